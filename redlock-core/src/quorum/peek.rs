//! The state of a lock by the nodes' answers, for a caller that only looks.

use std::fmt;
use std::time::Duration;

use crate::error::{NodeOutcome, NodeReport};
use crate::model::note::Note;
use crate::node::{Holding, Obstacle, Remaining, Vote};

use super::{Tally, majority};

/// The state of a lock when a majority of its nodes answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockStatus {
    /// A majority of the nodes has no key of the lock.
    Free,
    /// The lock's keys hold one value at a majority of the nodes.
    Held(Holder),
    /// The state is unknown. Nodes failed or hold different values, or the lock is just being acquired or released.
    Undecided(Undecided),
}

/// The holder of a lock, as far as the answers show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    holding: Holding,
    votes: usize,
    nodes: usize,
}

/// The votes of nodes that do not agree by a majority.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undecided {
    /// The number of nodes that have no key of the lock.
    pub free: usize,
    /// The number of nodes that have a key of the lock, whatever its value is.
    pub held: usize,
    /// The number of nodes that have to agree.
    pub needed: usize,
    /// The nodes that failed to answer, in the order of the configuration.
    pub failed: Vec<NodeReport>,
}

impl LockStatus {
    /// True if a majority has no key of the lock.
    pub fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }

    /// Returns the holder, if a majority names one.
    pub fn holder(&self) -> Option<&Holder> {
        match self {
            Self::Held(holder) => Some(holder),
            _ => None,
        }
    }

    /// Returns the status that follows from the `answers` of the nodes, by seat, after `elapsed`.
    pub(crate) fn of<'a>(
        names: impl Iterator<Item = &'a str>,
        answers: Vec<Option<Vote>>,
        elapsed: Duration,
        timeout: Duration,
    ) -> Self {
        let (tally, needed) = (Tally::of(&answers), majority(answers.len()));
        if tally.absent >= needed {
            return Self::Free;
        }
        if let Some(holder) = Holder::of(&answers) {
            return Self::Held(holder);
        }
        let mut failed = NodeReport::of_round(names, answers, u64::MAX, elapsed, timeout);
        failed.retain(|it| !matches!(it.outcome, NodeOutcome::Held | NodeOutcome::Absent));
        Self::Undecided(Undecided {
            free: tally.absent,
            held: tally.held,
            needed,
            failed,
        })
    }
}

impl Holder {
    /// Returns the holder that a majority names.
    fn of(answers: &[Option<Vote>]) -> Option<Self> {
        let holdings = answers.iter().flatten().filter_map(Vote::holding);
        let needed = majority(answers.len());
        holdings.clone().find_map(|one| {
            let alike = holdings.clone().filter(|other| other.value == one.value);
            let mut left: Vec<_> = alike.map(|holding| holding.remaining).collect();
            left.sort_by_key(|left| match left {
                Remaining::Expires(left) => *left,
                _ => Duration::MAX,
            });
            // The decisive node completes a majority: once it forgets the lock too, too few nodes hold it.
            let decisive = left.len().checked_sub(needed)?;
            let mut holding = one.clone();
            holding.remaining = left[decisive];
            Some(Self {
                holding,
                votes: left.len(),
                nodes: answers.len(),
            })
        })
    }

    /// Returns the holder's `host/pid`, if the keys' value has this library's format.
    pub fn owner(&self) -> Option<&str> {
        self.holding.owner()
    }

    /// Returns the holder's note, if there is one.
    pub fn note(&self) -> Option<Note> {
        self.holding.note()
    }

    /// True if one or several readers hold the lock. Readers are not named, and the remaining time is that of the
    /// reader that may stay longest.
    pub fn is_readers(&self) -> bool {
        self.holding.obstacle == Obstacle::Readers
    }

    /// True if `other` is the same holder, because both have the same owner token.
    pub fn is_same(&self, other: &Self) -> bool {
        self.holding.value == other.holding.value
    }

    /// Returns the time until the keys are on fewer nodes than a majority. An extension of the keys makes this time
    /// longer.
    pub fn remaining(&self) -> Remaining {
        self.holding.remaining
    }

    /// Returns the number of nodes that named this holder. Nodes whose answers came too late do not count.
    pub fn votes(&self) -> usize {
        self.votes
    }

    /// Returns the number of nodes of the lock.
    pub fn nodes(&self) -> usize {
        self.nodes
    }
}

impl fmt::Display for LockStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => f.write_str("free"),
            Self::Held(holder) => holder.fmt(f),
            Self::Undecided(undecided) => undecided.fmt(f),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.holding.fmt(f)?;
        write!(f, "; {} of {} nodes", self.votes, self.nodes)
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (free, held, needed) = (self.free, self.held, self.needed);
        let nodes = free + held + self.failed.len();
        write!(
            f,
            "undecided: of {nodes} nodes, {free} have no key and {held} have one, and {needed} have to \
             agree",
        )?;
        self.failed
            .iter()
            .try_for_each(|node| write!(f, "; {node}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{NodeError, NodeErrorKind};

    const TIMEOUT: Duration = Duration::from_millis(50);

    fn by(digit: &str, secs: u64) -> Vote {
        let mut holding = Holding::by(format!("web-7/3121/{}", digit.repeat(32)));
        holding.remaining = Remaining::Expires(Duration::from_secs(secs));
        Vote::Held(holding)
    }

    fn fails() -> Vote {
        let error = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        Vote::Failed(error)
    }

    /// Returns the status by the first `answers` of `nodes` nodes. The other nodes are silent.
    fn of(nodes: usize, answers: &[Vote]) -> LockStatus {
        let mut all: Vec<_> = answers.iter().cloned().map(Some).collect();
        all.resize(nodes, None);
        let names = ["a", "b", "c", "d", "e"];
        LockStatus::of(names.into_iter(), all, TIMEOUT, TIMEOUT)
    }

    const FREE: Vote = Vote::Absent;

    #[test]
    fn only_a_majority_of_all_nodes_says_that_a_lock_is_free() {
        assert!(of(1, &[FREE]).is_free());
        assert!(of(3, &[FREE, by("a", 9), FREE]).is_free());
        assert!(of(5, &[fails(), FREE, FREE, FREE]).is_free());
        for undecided in [
            of(4, &[FREE, FREE, fails()]),
            of(3, &[FREE, fails()]),
            of(2, &[FREE, by("a", 9)]),
        ] {
            assert!(matches!(undecided, LockStatus::Undecided(_)), "{undecided}");
        }
    }

    #[test]
    fn only_one_value_at_a_majority_names_a_holder() {
        let held = of(3, &[by("a", 9), FREE, by("a", 9)]);
        assert_eq!(held.holder().and_then(Holder::owner), Some("web-7/3121"));
        let text = "held by web-7/3121 for 9 s more; 2 of 3 nodes";
        assert_eq!(held.to_string(), text);
        for undecided in [
            of(3, &[by("a", 9), by("b", 9), by("c", 9)]),
            of(3, &[by("a", 9), by("b", 9), fails()]),
            of(3, &[by("a", 9), FREE]),
        ] {
            assert_eq!(undecided.holder(), None, "{undecided}");
            assert!(!undecided.is_free());
        }
    }

    #[test]
    fn a_lock_is_held_until_too_few_nodes_have_its_keys() {
        let left = |status: LockStatus| status.holder().unwrap().remaining();
        let secs = |secs| Remaining::Expires(Duration::from_secs(secs));
        assert_eq!(left(of(1, &[by("a", 7)])), secs(7));
        assert_eq!(left(of(3, &[by("a", 9), by("a", 5), fails()])), secs(5));
        assert_eq!(left(of(3, &[by("a", 9), by("a", 5), by("a", 7)])), secs(7));
        let forever = Vote::Held(Holding::unknown(Remaining::Never));
        assert_eq!(left(of(2, &[forever.clone(), forever])), Remaining::Never);
    }

    #[test]
    fn an_undecided_look_says_who_did_not_answer() {
        let undecided = of(5, &[FREE, by("a", 9), fails(), by("b", 1)]);
        assert_eq!(
            undecided.to_string(),
            "undecided: of 5 nodes, 1 have no key and 2 have one, and 3 have to agree; c: connection \
             refused; e: no answer in 50 ms",
        );
    }
}
