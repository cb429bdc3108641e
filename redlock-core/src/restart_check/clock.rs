//! Steps of a node's clock against the client's clock.
//!
//! A reading of the node's clock is uncertain by half the round trip. The rules allow for that, so a slow network may
//! hide a step, but does not invent one.

use std::time::Duration;

use super::{CLOCK_WINDOW, CheckAnswer};
use crate::env::{Moment, micros};

/// The largest uncertainty of a reading. Readings with more are ignored.
const VAGUE: Duration = Duration::from_millis(250);

/// The time within which several nodes must show a step, to count as one step of this host's clock. After a step, the
/// other nodes are asked at once.
const TOGETHER: Duration = Duration::from_secs(2);

/// The last reading of a node's clock, and its last step.
#[derive(Debug, Default)]
pub(super) struct NodeClock {
    /// The moment at which the node was last asked.
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
    /// Undecided until the other nodes have answered a question from after the step.
    Undecided,
    /// The clock of this host. All connected nodes moved by one amount, and they are a majority of several nodes.
    Ours,
    /// The clock of the node. The clocks of other nodes stayed.
    Nodes,
}

impl NodeClock {
    /// Reads the clock. Returns the step since the last reading, in ms; positive if forwards. Each reading is compared
    /// with the last one, so a clock that drifts slowly makes no step.
    ///
    /// If the answer is of another process than `before`, the clock starts afresh, because it may be another host's.
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

    /// Finds the owner of the clock that stepped. The clocks of the other connected nodes decide. `majority` is the
    /// majority of the set.
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
            // A slow answer shows no step, and the next answer comes too late to count.
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
