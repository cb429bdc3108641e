//! A node's clock against the client's.

use std::time::Duration;

use super::{CLOCK_WINDOW, Check};
use crate::environment::Moment;

/// A check that took longer says too little about the node's clock to be compared with.
const VAGUE: Duration = Duration::from_millis(250);

/// The node's clock as it was last read.
#[derive(Debug, Default)]
pub(super) struct NodeClock {
    last: Option<Reading>,
}

impl NodeClock {
    /// By how many µs the clock stepped since the last check, forwards where positive; and whether
    /// the check was good enough to tell.
    pub(super) fn read(&mut self, check: &Check<'_>) -> (Option<i128>, bool) {
        let reading = Reading::of(check);
        let stepped = self.last.and_then(|earlier| reading.step_since(earlier));
        // Compared with the last check and not the first: what moves slowly is covered by the
        // drift. A vague reading would hide what comes after it.
        let is_sharp = reading.uncertainty_us <= micros(VAGUE);
        if is_sharp || stepped.is_some() || self.last.is_none() {
            self.last = Some(reading);
        }
        (stepped, is_sharp)
    }
}

/// The difference between a node's clock and the client's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    at: Moment,
    pub(super) offset_us: i128,
    uncertainty_us: i128,
}

impl Reading {
    pub(super) fn of(check: &Check<'_>) -> Self {
        let round_trip = check.answered.saturating_since(check.asked);
        let midpoint = check.asked.saturating_add(round_trip / 2);
        Self {
            at: midpoint,
            offset_us: micros(check.time) - micros(midpoint.since_origin()),
            uncertainty_us: micros(round_trip) / 2,
        }
    }

    /// By how much the node's clock moved since `earlier`, where that is a step.
    fn step_since(self, earlier: Self) -> Option<i128> {
        let moved = self.offset_us - earlier.offset_us;
        // A thousandth is more than a clock that is slewed moves away from another.
        let slewed = micros(self.at.saturating_since(earlier.at)) / 1000;
        let allowed = micros(CLOCK_WINDOW) + slewed + self.uncertainty_us + earlier.uncertainty_us;
        (moved.abs() > allowed).then_some(moved)
    }
}

pub(crate) fn micros(span: Duration) -> i128 {
    // A duration has less than 2^84 µs.
    i128::try_from(span.as_micros()).unwrap_or(i128::MAX)
}
