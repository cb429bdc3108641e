//! The steps of a node's clock against the client's.
//!
//! A reading shows the node's clock with an uncertainty of the round trip. No rule here is finer than
//! that: a slow network hides steps, and invents none.

use std::time::Duration;

use super::{CLOCK_WINDOW, CheckAnswer};
use crate::env::{Moment, micros};

/// A reading with a larger uncertainty says too little about the node's clock to be compared with.
const VAGUE: Duration = Duration::from_millis(250);

/// The node's clock, as it was last read.
#[derive(Debug, Default)]
pub(super) struct NodeClock {
    last: Option<Reading>,
}

/// The result of one reading of a node's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// The step since the reading before, in µs; positive if forwards.
    pub(super) stepped: Option<i128>,
    /// The reading was good enough to tell.
    pub(super) is_sharp: bool,
}

impl NodeClock {
    /// Reads the clock. It is compared with the last reading and not the first: what moves slowly is no
    /// step.
    pub(super) fn read(&mut self, check: &CheckAnswer<'_>) -> Look {
        let reading = Reading::of(check);
        let is_sharp = reading.uncertainty_us <= micros(VAGUE);
        let earlier = if is_sharp {
            self.last.replace(reading)
        } else {
            None
        };
        Look {
            stepped: earlier.and_then(|earlier| reading.step_since(earlier)),
            is_sharp,
        }
    }
}

/// The difference between a node's clock and the client's.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Moment,
    offset_us: i128,
    uncertainty_us: i128,
}

impl Reading {
    fn of(check: &CheckAnswer<'_>) -> Self {
        let round_trip = check.answered.saturating_since(check.asked);
        let midpoint = check.asked.saturating_add(round_trip / 2);
        Self {
            at: midpoint,
            offset_us: micros(check.time) - micros(midpoint.since_origin()),
            uncertainty_us: micros(round_trip) / 2,
        }
    }

    /// By how much the node's clock moved since `earlier`, if that is a step: more than one clock drifts
    /// away from another in a longer time.
    fn step_since(self, earlier: Self) -> Option<i128> {
        let moved = self.offset_us - earlier.offset_us;
        let time = self.at.saturating_since(earlier.at);
        let allowed = micros(CLOCK_WINDOW) + micros(time) / 1000;
        let uncertain = self.uncertainty_us + earlier.uncertainty_us;
        (moved.abs() > allowed + uncertain).then_some(moved)
    }
}
