//! A node's clock against the client's: its steps and its gain.
//!
//! A reading shows the node's clock with an uncertainty of the round trip. No rule here is finer than
//! that: a slow network hides movements of a clock, and invents none.

use std::collections::VecDeque;
use std::time::Duration;

use super::{CLOCK_WINDOW, CheckAnswer};
use crate::env::{Moment, micros};

/// A check that took longer says too little about the node's clock to be compared with.
const VAGUE: Duration = Duration::from_millis(250);

/// The inverse of [`DRIFT_FACTOR`](super::DRIFT_FACTOR): validity is shorter than the ttl by this part at
/// least. One clock may run faster than another by this part.
const DRIFT: i128 = 100;

/// The constant part of the drift allowance, in µs.
pub(super) const SLACK_US: i128 = 2_000;

/// A time service slews a clock by this part at most. It is the kernel's limit; chrony stays below it.
const SLEW: i128 = 10;

/// The longest time between two checks in which a slew explains a movement.
const LONGEST_SLEW: Duration = Duration::from_secs(30);

/// A reading tells where a clock was this long before. If this host stood still in that time, it does not.
const JUST_BEFORE: Duration = Duration::from_secs(1);

/// The node's clock as it was read.
#[derive(Debug, Default)]
pub(super) struct NodeClock {
    last: Option<Reading>,
    line: Line,
}

/// The result of one reading of a node's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// The step since the last check, in µs; positive if forwards.
    pub(super) stepped: Option<i128>,
    /// The check was good enough to tell.
    pub(super) is_sharp: bool,
    pub(super) gain: Gain,
}

/// By how many µs a node's clock is ahead of the clock that it would be if it had never run faster
/// than the drift allowance covers.
///
/// A key lives for less than its lease if the clock gained more in that time than the allowance. As
/// long as there is a gain, that may have happened to some key. Once the allowance has made up for the
/// gain, it has happened to none, whether the gain was a slew or a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    pub(super) at_least: i128,
    pub(super) at_most: i128,
}

impl Gain {
    /// Whether something is left of the gain for certain if all nodes have `common` of it.
    pub(super) fn is_left(self, common: i128) -> bool {
        self.at_least - common > SLACK_US
    }

    /// Whether nothing can be left of the gain if all nodes have `common` of it.
    pub(super) fn is_made_up(self, common: i128) -> bool {
        self.at_most - common <= SLACK_US
    }
}

/// How far a slew may have moved a clock in that time.
pub(super) fn slewed(time: Duration) -> i128 {
    micros(time) / SLEW
}

/// How long it takes the allowance to make up for `gain_us`.
pub(super) fn made_up_in(gain_us: i128) -> Duration {
    let micros = u64::try_from((gain_us - SLACK_US) * DRIFT).unwrap_or_default();
    Duration::from_micros(micros)
}

impl NodeClock {
    /// Reads the clock. A gain counts for `longest` at most.
    pub(super) fn read(&mut self, check: &CheckAnswer<'_>, longest: Duration) -> Look {
        let reading = Reading::of(check);
        let stepped = self.last.and_then(|earlier| reading.step_since(earlier));
        // Compared with the last check and not the first: what moves slowly is no step. A vague
        // reading would hide what comes after it.
        let is_sharp = reading.uncertainty_us <= micros(VAGUE);
        if is_sharp || stepped.is_some() || self.last.is_none() {
            self.last = Some(reading);
        }
        if stepped.is_some() {
            // A quarantine covers it.
            self.line = Line::default();
        }
        let gain = self.line.gain(check, longest, is_sharp);
        Look {
            stepped,
            is_sharp,
            gain,
        }
    }
}

/// The most that the clock may show: the lowest of the lines that rise by the drift from one reading
/// each. A reading counts until the next reading is too old. Up to the next reading, a key may have
/// been set that still lives.
#[derive(Debug, Default)]
struct Line {
    /// The readings whose upper end is the lowest, or will be once the readings before them are
    /// dropped. They are in order, by time and by height.
    upper: VecDeque<Mark>,
    /// The same for the lower end.
    lower: VecDeque<Mark>,
}

/// The clock's offset from the client's at one reading, less the drift until then: marks stay where
/// they are while their lines rise.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The moment of the next reading: the clock may have gained at any time before it.
    until: Moment,
    at_least: i128,
    at_most: i128,
}

impl Mark {
    fn of(check: &CheckAnswer<'_>) -> Self {
        // The node read its clock after the question and before the answer.
        let time = micros(check.time);
        let (asked, answered) = (check.asked.since_origin(), check.answered.since_origin());
        Self {
            until: check.answered,
            at_least: time - micros(answered) - micros(answered) / DRIFT,
            at_most: time - micros(asked) - micros(asked) / DRIFT,
        }
    }
}

impl Line {
    fn gain(&mut self, check: &CheckAnswer<'_>, longest: Duration, is_sharp: bool) -> Gain {
        let now = Mark::of(check);
        let lowest = |marks: &mut VecDeque<Mark>, end: fn(&Mark) -> i128| {
            if let Some(last) = marks.back_mut().filter(|_| is_sharp) {
                last.until = now.until;
            }
            while let [first, _, ..] = marks.make_contiguous()
                && now.until.saturating_since(first.until) >= longest
            {
                marks.pop_front();
            }
            let lowest = marks.front().copied().unwrap_or(now);
            // A vague reading would hide what the others gain.
            if is_sharp {
                while let Some(last) = marks.back()
                    && end(last) >= end(&now)
                {
                    marks.pop_back();
                }
                marks.push_back(now);
            }
            lowest
        };
        let upper = lowest(&mut self.upper, |mark| mark.at_most);
        let lower = lowest(&mut self.lower, |mark| mark.at_least);
        Gain {
            at_least: now.at_least - upper.at_most,
            at_most: now.at_most - lower.at_least,
        }
    }
}

/// How a node's clock moved against the client's, for comparison with other nodes' clocks.
#[derive(Debug, Default)]
pub(super) struct Track {
    spans: VecDeque<Span>,
}

/// Where the clock was against the client's at one reading.
#[derive(Debug)]
pub(super) struct Span {
    asked: Moment,
    pub(super) answered: Moment,
    at_least: i128,
    at_most: i128,
}

impl Track {
    /// Adds a reading. Readings count for `longest`.
    pub(super) fn add(&mut self, check: &CheckAnswer<'_>, longest: Duration) {
        let kept = longest.saturating_add(LONGEST_SLEW);
        let is_old = |span: &Span| check.answered.saturating_since(span.answered) > kept;
        while self.spans.front().is_some_and(is_old) && self.spans.len() > 1 {
            self.spans.pop_front();
        }
        let time = micros(check.time);
        self.spans.push_back(Span {
            asked: check.asked,
            answered: check.answered,
            at_least: time - micros(check.answered.since_origin()),
            at_most: time - micros(check.asked.since_origin()),
        });
    }

    /// When the last reading was asked for.
    pub(super) fn asked(&self) -> Option<Moment> {
        self.spans.back().map(|last| last.asked)
    }

    /// The earlier readings since which the clock gained something, and how much at least. Those that are
    /// older than `longest` do not count, except for the last one.
    pub(super) fn gains(&self, longest: Duration) -> impl Iterator<Item = (&Span, i128)> {
        let (last, earlier) = (self.spans.back(), self.spans.len().saturating_sub(1));
        let starts = self.spans.iter().take(earlier).enumerate();
        starts.filter_map(move |(index, start)| {
            let last = last?;
            let age = last.answered.saturating_since(start.answered);
            let counts = age <= longest || index + 1 == earlier;
            let drift = micros(last.answered.saturating_since(start.asked)) / DRIFT;
            let gained = last.at_least - start.at_most - drift;
            (counts && gained > SLACK_US).then_some((start, gained))
        })
    }

    /// By how much the clock moved ahead at most since `then`, until its last reading. `None` if it was
    /// not read at about that time.
    pub(super) fn moved_since(&self, then: Moment) -> Option<i128> {
        let at_least_then = self.spans.iter().filter_map(|span| {
            let (gap, longest) = if span.answered <= then {
                (then.saturating_since(span.asked), LONGEST_SLEW)
            } else {
                (span.answered.saturating_since(then), JUST_BEFORE)
            };
            // The clock may have been slewed in between.
            (gap <= longest).then(|| span.at_least - slewed(gap))
        });
        let at_least_then = at_least_then.max()?;
        Some((self.spans.back()?.at_most - at_least_then).max(0))
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

    /// By how much the node's clock moved since `earlier`, if that is a step: more than a slew moves
    /// it in that time, and more than one clock drifts away from another in a longer time.
    fn step_since(self, earlier: Self) -> Option<i128> {
        let moved = self.offset_us - earlier.offset_us;
        let time = self.at.saturating_since(earlier.at);
        let drifted = micros(CLOCK_WINDOW) + micros(time) / 1000;
        let allowed = drifted.max(slewed(time.min(LONGEST_SLEW)));
        let uncertain = self.uncertainty_us + earlier.uncertainty_us;
        (moved.abs() > allowed + uncertain).then_some(moved)
    }
}
