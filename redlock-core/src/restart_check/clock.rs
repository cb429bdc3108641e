//! The steps of a node's clock against the client's.
//!
//! A reading shows the node's clock with an uncertainty of the round trip. No rule here is finer than
//! that: a slow network hides steps, and invents none.

use std::time::Duration;

use super::{CLOCK_WINDOW, CheckAnswer};
use crate::env::{Moment, micros};

/// A reading with a larger uncertainty says too little about the node's clock to be compared with.
const VAGUE: Duration = Duration::from_millis(250);

/// Steps of several nodes are one step of this host's clock only if they were seen within this time. The other nodes are
/// asked as soon as a step is seen.
const TOGETHER: Duration = Duration::from_secs(2);

/// A node's clock, as it was last read.
#[derive(Debug, Default)]
pub(super) struct NodeClock {
    /// The moment of the last question.
    asked: Option<Moment>,
    last: Option<ClockReading>,
    step: Option<ClockStep>,
}

/// The difference between a node's clock and the client's.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    asked: Moment,
    offset_us: i128,
    uncertainty_us: i128,
}

#[derive(Clone, Copy, Debug)]
struct ClockStep {
    by_us: i128,
    seen: Moment,
}

/// The owner of a clock that stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SteppedClock {
    /// Some of the other nodes have not been asked since the step.
    Undecided,
    /// This host's: the clocks of all connected nodes moved alike, and they are a majority of several.
    Ours,
    /// The node's: the clocks of other nodes did not move.
    Nodes,
}

impl NodeClock {
    /// Reads the clock. Returns the step since the reading before, in ms; positive if forwards. The reading is
    /// compared with the last one and not the first: what moves slowly is no step.
    ///
    /// A reading of another process than `before` is compared with none: it may be on another host.
    pub(super) fn read(&mut self, check: &CheckAnswer<'_>, before: Option<&str>) -> Option<i64> {
        let is_other = |(before, now): (&str, &str)| before != now;
        if before.zip(check.run_id).is_some_and(is_other) {
            *self = Self::default();
        }
        let (asked, seen) = (check.asked, check.answered);
        self.asked = Some(asked);
        let way = seen.saturating_since(asked) / 2;
        if way > VAGUE {
            return None;
        }
        let reading = ClockReading {
            asked,
            offset_us: micros(check.time) - micros(asked.saturating_add(way).since_origin()),
            uncertainty_us: micros(way),
        };
        let before = self.last.replace(reading)?;
        let by_us = reading.offset_us - before.offset_us;
        let drift = asked.saturating_since(before.asked) / 1000;
        let uncertain = reading.uncertainty_us + before.uncertainty_us;
        if by_us.abs() <= micros(CLOCK_WINDOW + drift) + uncertain {
            return None;
        }
        self.step = Some(ClockStep { by_us, seen });
        Some(i64::try_from(by_us / 1000).unwrap_or(i64::MAX))
    }

    /// Finds the owner of the clock that stepped last, by the clocks of the other connected nodes. `majority` is that of the set.
    pub(super) fn whose_step<'a>(
        &self,
        others: impl Iterator<Item = &'a Self>,
        majority: usize,
    ) -> SteppedClock {
        let Some(step) = self.step else {
            return SteppedClock::Nodes;
        };
        let is_like = |other: ClockStep| {
            let [first, last] = [step.seen.min(other.seen), step.seen.max(other.seen)];
            let is_together = last.saturating_since(first) <= TOGETHER;
            is_together && (step.by_us - other.by_us).abs() <= micros(CLOCK_WINDOW)
        };
        let (mut alike, mut is_pending) = (1, false);
        for other in others {
            let was_read = other.last.is_some_and(|it| it.asked > step.seen);
            // A slow answer shows no step, and the next one would show it too late.
            let is_too_late = other.asked > Some(step.seen.saturating_add(TOGETHER));
            match other.step {
                Some(own) if is_like(own) => alike += 1,
                _ if was_read || is_too_late => return SteppedClock::Nodes,
                _ => is_pending = true,
            }
        }
        if is_pending {
            SteppedClock::Undecided
        } else if alike > 1 && alike >= majority {
            SteppedClock::Ours
        } else {
            SteppedClock::Nodes
        }
    }
}
