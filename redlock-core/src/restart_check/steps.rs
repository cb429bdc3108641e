//! Whose clock stepped: the node's, or this process's own.
#![doc = include_str!("steps.md")]

use crate::env::{Moment, micros};
use crate::quorum::majority;

use super::CLOCK_WINDOW;

/// What is known of one node's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readings {
    /// When it was last asked, with an answer that was good enough to tell.
    asked: Option<Moment>,
    step: Option<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    by_us: i128,
    /// It happened after this,
    after: Moment,
    /// and before that.
    before: Moment,
}

/// Whose clock a step was of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SteppedClock {
    /// Not all of the others have been asked since.
    Undecided,
    /// All nodes moved alike, and they are a majority.
    Ours,
    /// Others did not move.
    Nodes,
}

impl Readings {
    pub(super) fn record(&mut self, asked: Moment, answered: Moment, stepped: Option<i128>) {
        if let Some(by_us) = stepped {
            self.step = Some(Step {
                by_us,
                after: self.asked.unwrap_or(asked),
                before: answered,
            });
        }
        self.asked = Some(asked);
    }

    /// Its own step at the time of another node's.
    fn step_at(&self, step: Step) -> Option<Step> {
        self.step
            .filter(|own| own.before >= step.after && own.after <= step.before)
    }
}

impl Step {
    fn is_like(self, other: Self) -> bool {
        (self.by_us - other.by_us).abs() <= micros(CLOCK_WINDOW)
    }
}

/// Whose clock the last step of `seat` was, by the other connected nodes.
pub(super) fn whose_step<'a>(
    of: &Readings,
    others: impl Iterator<Item = &'a Readings>,
    configured: usize,
) -> SteppedClock {
    let Some(step) = of.step else {
        return SteppedClock::Nodes;
    };
    let (mut moved, mut is_pending) = (1, false);
    for other in others {
        match other.step_at(step) {
            Some(own) if own.is_like(step) => moved += 1,
            Some(_) => return SteppedClock::Nodes,
            None if other.asked.is_some_and(|asked| asked > step.before) => {
                return SteppedClock::Nodes;
            }
            None => is_pending = true,
        }
    }
    if is_pending {
        SteppedClock::Undecided
    } else if moved > 1 && moved >= majority(configured) {
        SteppedClock::Ours
    } else {
        SteppedClock::Nodes
    }
}
