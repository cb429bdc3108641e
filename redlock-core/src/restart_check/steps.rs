//! Whose clock stepped: the node's, or this process's own.
#![doc = include_str!("steps.md")]

use std::time::Duration;

use crate::env::{Moment, micros};
use crate::quorum::majority;

use super::cause::Cause;
use super::opening::AT_ONCE;
use super::quarantine::held;
use super::{Action, CLOCK_WINDOW, CheckAnswer, Marker, NodeCheck};

/// The longest wait for the other nodes to tell whose clock stepped, longer than the interval at which
/// they are checked. After it, the step counts as the node's.
const UNDECIDED: Duration = Duration::from_secs(30);

/// The pause before the next check of a node whose step is undecided.
const SOON: Duration = Duration::from_millis(250);

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

/// A step that is not yet known to be the node's clock or this host's.
#[derive(Debug)]
pub(super) struct Suspicion {
    by_us: i128,
    /// The marker before the step was seen.
    marker: Option<Marker>,
    seen: Moment,
}

/// A step whose quarantine is not written on the node yet.
#[derive(Debug)]
pub(super) struct Unwritten {
    /// The marker that the quarantine is to replace; once it is another one, others have judged.
    pub(super) marker: Option<Marker>,
    pub(super) cause: Cause,
}

impl Suspicion {
    pub(super) fn new(by_us: i128, marker: Option<Marker>, seen: Moment) -> Self {
        Self {
            by_us,
            marker,
            seen,
        }
    }
}

impl NodeCheck {
    /// The action for a step that was seen, if there is one.
    pub(super) fn suspect(
        &mut self,
        check: &CheckAnswer<'_>,
        found: Option<&Marker>,
    ) -> Option<Action> {
        let suspicion = self.suspicion.take()?;
        let waited = check.answered.saturating_since(suspicion.seen);
        match self.peers.whose_step(self.seat) {
            // All leases were given up with the epoch; the nodes are as they were.
            SteppedClock::Ours => None,
            SteppedClock::Undecided if waited < UNDECIDED => {
                let why = stepped(suspicion.by_us);
                self.suspicion = Some(suspicion);
                Some(Action::Hold {
                    reason: format!(
                        "{why}, or this host's did; the other nodes' clocks will show which"
                    ),
                    look_again: SOON,
                    is_settled: true,
                })
            }
            SteppedClock::Undecided | SteppedClock::Nodes => {
                Some(self.step(check, found, &suspicion))
            }
        }
    }

    /// The node's clock stepped: it dropped locks early, or will drop them late.
    fn step(
        &mut self,
        check: &CheckAnswer<'_>,
        found: Option<&Marker>,
        suspicion: &Suspicion,
    ) -> Action {
        let quarantine = self.peers.quarantine();
        let cause = stepped(suspicion.by_us);
        self.hold_for(quarantine, cause, check.answered);
        if !is_unchanged(suspicion.marker.as_ref(), found) {
            // Since the check before, another client has written the marker, or the node was not
            // checked for long. Other clients judge for themselves; this client waits.
            return Action::Hold {
                reason: held(Some(cause), quarantine),
                look_again: AT_ONCE,
                is_settled: true,
            };
        }
        let action = self.quarantine(check, cause);
        self.unwritten = Some(Unwritten {
            marker: found.cloned(),
            cause,
        });
        action
    }
}

/// True if no other client has judged meanwhile.
pub(super) fn is_unchanged(before: Option<&Marker>, now: Option<&Marker>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => before.is_like(now),
        (None, None) => true,
        _ => false,
    }
}

pub(super) fn step_ms(us: i128) -> i64 {
    i64::try_from(us / 1000).unwrap_or(i64::MAX)
}

fn stepped(by_us: i128) -> Cause {
    Cause::Stepped {
        by_ms: step_ms(by_us),
    }
}
