//! Breadth-first search through all states of a model.
//!
//! Our own, and not the `stateright` crate: that brings some forty crates into the lock file, a web
//! server and a second major version of `rand` among them, and keeps its states on the heap behind
//! hashes that are taken for the states. What is needed here is a queue, an exact set and the way
//! back. States are small `Copy` values in one list that is queue and history at once.

use std::fmt;
use std::hash::Hash;

use foldhash::{HashSet, HashSetExt as _};

/// A system whose states can be enumerated.
pub trait Model {
    /// Everything that decides what may happen next, and what the properties look at.
    type State: Copy + Eq + Hash;
    /// What happened, in words.
    type Action: fmt::Display;

    /// Where it begins.
    fn initial(&self) -> Self::State;

    /// Calls `to` with every step that can be taken from `state`.
    fn steps(&self, state: &Self::State, to: &mut impl Take<Self>);

    /// One state for all that differ in names only.
    fn canonical(&self, state: &Self::State) -> Self::State;

    /// Returns what is wrong with `state`.
    fn violation(&self, state: &Self::State) -> Option<String>;

    /// Returns a bit for each situation of interest that `state` is in, so that a check can show that it
    /// was no check of nothing.
    fn landmarks(&self, state: &Self::State) -> u32;
}

/// What is called with every step of a model `M`.
pub trait Take<M: Model + ?Sized>: FnMut(M::Action, M::State) {}

impl<M: Model + ?Sized, F: FnMut(M::Action, M::State)> Take<M> for F {}

/// What a search saw.
#[derive(Clone, Debug)]
pub struct Report {
    /// Different states, names aside.
    pub states: usize,
    /// All landmarks of all states.
    pub landmarks: u32,
    /// A shortest way to a violation, if there is one.
    pub counterexample: Option<Counterexample>,
}

/// A shortest way to a violation.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The steps, in words.
    pub steps: Vec<String>,
    /// What is wrong in the end.
    pub violation: String,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:3}. {step}", number + 1)?;
        }
        write!(f, "     => {}", self.violation)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} states", self.states)?;
        if let Some(counterexample) = &self.counterexample {
            let length = counterexample.steps.len();
            write!(f, "; a violation after {length} steps:\n{counterexample}")?;
        }
        Ok(())
    }
}

/// Searches until a violation is found or every state was seen.
///
/// # Panics
/// With more than `most` states: a model that got out of hand must not take the machine with it.
pub fn explore<M: Model>(model: &M, most: usize) -> Report {
    let mut search = Search {
        model,
        states: Vec::new(),
        parents: Vec::new(),
        seen: HashSet::new(),
    };
    search.see(model.initial(), 0);
    let mut report = Report {
        states: 0,
        landmarks: 0,
        counterexample: None,
    };
    let mut at = 0;
    while at < search.states.len() {
        assert!(at < most, "more than {most} states");
        let state = search.states[at];
        report.landmarks |= model.landmarks(&state);
        if let Some(violation) = model.violation(&state) {
            let steps = search.way_to(at);
            report.counterexample = Some(Counterexample { steps, violation });
            break;
        }
        model.steps(&state, &mut |_, next| search.see(next, at));
        at += 1;
    }
    report.states = search.states.len();
    report
}

struct Search<'a, M: Model> {
    model: &'a M,
    /// In the order in which they were found. As they were found, and not in their canonical form:
    /// a trace whose nodes changed names from step to step could not be followed.
    states: Vec<M::State>,
    parents: Vec<u32>,
    /// Their canonical forms.
    seen: HashSet<M::State>,
}

impl<M: Model> Search<'_, M> {
    fn see(&mut self, state: M::State, parent: usize) {
        if self.seen.insert(self.model.canonical(&state)) {
            self.states.push(state);
            self.parents
                .push(u32::try_from(parent).expect("fewer than 2^32 states"));
        }
    }

    /// Returns the steps from the beginning: taken again, since only states are stored.
    fn way_to(&self, end: usize) -> Vec<String> {
        let mut steps = Vec::new();
        let mut at = end;
        while at != 0 {
            let parent = self.parents[at] as usize;
            let mut action = None;
            self.model.steps(&self.states[parent], &mut |taken, next| {
                if next == self.states[at] && action.is_none() {
                    action = Some(taken.to_string());
                }
            });
            steps.push(action.expect("a step that was taken can be taken again"));
            at = parent;
        }
        steps.reverse();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two counters that go up to nine each; alike, so that their order does not matter.
    struct Counters {
        forbidden: (u8, u8),
    }

    impl Model for Counters {
        type State = (u8, u8);
        type Action = &'static str;

        fn initial(&self) -> (u8, u8) {
            (0, 0)
        }

        fn steps(&self, &(left, right): &(u8, u8), to: &mut impl Take<Self>) {
            if left < 9 {
                to("left", (left + 1, right));
            }
            if right < 9 {
                to("right", (left, right + 1));
            }
        }

        fn canonical(&self, &(left, right): &(u8, u8)) -> (u8, u8) {
            (left.min(right), left.max(right))
        }

        fn violation(&self, state: &(u8, u8)) -> Option<String> {
            (self.canonical(state) == self.forbidden).then(|| "forbidden".to_owned())
        }

        fn landmarks(&self, state: &(u8, u8)) -> u32 {
            u32::from(*state == (9, 9))
        }
    }

    #[test]
    fn sees_every_state_once() {
        let report = explore(&Counters { forbidden: (99, 0) }, 1000);
        assert_eq!(report.states, 55);
        assert_eq!(report.landmarks, 1);
        assert!(report.counterexample.is_none());
    }

    #[test]
    fn the_first_violation_is_a_shortest_one() {
        let report = explore(&Counters { forbidden: (2, 3) }, 1000);
        let found = report.counterexample.expect("reachable");
        assert_eq!(found.steps.len(), 5);
        let lefts = found.steps.iter().filter(|step| *step == "left").count();
        assert!(lefts == 2 || lefts == 3, "{found}");
    }
}
