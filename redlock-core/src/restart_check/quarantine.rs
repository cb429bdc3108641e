//! A node's quarantine, as its marker and as this client's own clock have it, and what ends it.
//!
//! The client's own clock counts too, since a marker shows the last write only. That may be of a
//! client that did not see the set in use and took it for new, or from before a node's clock jumped
//! ahead. Without it
//! `who_saw_a_set_in_use_waits_although_another_took_it_for_new` fails.
//!
//! An operator's word is the only thing that ends it early. It opens a set that is known to be idle, say
//! after all nodes were restarted empty, at the next check, which is 5 s later at most. Without it the set
//! would wait for 306.5 s with the default `max_ttl`, in each process that saw it in use.

use std::time::Duration;

use crate::env::Moment;
use crate::model::brief::Brief;

use super::cause::Cause;
use super::marker::IDLE;
use super::opening::AT_ONCE;
use super::{Action, CLOCK_WINDOW, CheckAnswer, Marker, NodeCheck};

/// A quarantine that is longer than this, and than the client's own, is no quarantine but garbage.
const LONGEST_PLAUSIBLE: Duration = Duration::from_secs(24 * 60 * 60);

/// A node in quarantine is looked at no less often.
const LATEST: Duration = Duration::from_secs(5);

/// An operator's word that no lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorIdle {
    /// The word itself, as the operator wrote it.
    Given,
    /// The marker for it, which the first client that found the word wrote at this time of the node.
    Taken(u64),
}

/// The reason why a node does not vote, and the time that is left. The text before the `;` does not change
/// with time, and the whole text is true for as long as it is shown, which is until the next check.
pub(super) fn held(cause: Option<Cause>, left: Duration) -> String {
    let left = Brief(left);
    match cause {
        Some(cause) => {
            format!("{cause}, so it may have forgotten locks; it votes again within {left}")
        }
        None => format!(
            "it may have forgotten locks, or dropped them early; it votes again within {left}"
        ),
    }
}

fn set_back(from: Duration, to: Duration) -> Cause {
    let back = i64::try_from(to.saturating_sub(from).as_millis()).unwrap_or(i64::MAX);
    Cause::Stepped { by_ms: -back }
}

impl NodeCheck {
    /// A marker of this very process: the quarantine that it tells of, or none.
    pub(super) fn follow(&mut self, check: &CheckAnswer<'_>, found: &Marker) -> Action {
        let quarantine = self.peers.quarantine();
        let (since, mut until) = (found.since(), found.until());
        if since > check.time.saturating_add(CLOCK_WINDOW) {
            // The node's clock was set back behind the marker, on all nodes alike if no step was seen.
            if until > since {
                // How much of the quarantine is over is not known.
                return self.forgot(check, set_back(check.time, since));
            }
            until = check.time;
        }
        if until.saturating_sub(check.time) > quarantine.max(LONGEST_PLAUSIBLE) {
            return self.forgot(check, Cause::Garbled);
        }
        if found.cause.closes() {
            // The process that wrote it may have known a shorter `max_ttl` only.
            until = until.max(since.min(check.time).saturating_add(quarantine));
        }
        let left = until.saturating_sub(check.time);
        if !left.is_zero() {
            self.held_until = self
                .held_until
                .max(Some(check.answered.saturating_add(left.min(quarantine))));
            if found.cause.closes() {
                self.cause = Some(found.cause);
            }
        }
        let left = left.max(self.left(check));
        if left.is_zero() {
            self.held_until = None;
            self.cause = None;
            return Action::Vote;
        }
        self.hold(left)
    }

    /// The node is in quarantine for so long.
    pub(super) fn hold(&self, left: Duration) -> Action {
        Action::Hold {
            reason: held(self.cause, left),
            look_again: left.clamp(AT_ONCE, LATEST),
            is_settled: true,
        }
    }

    /// How long the node does not vote by this client's own clock.
    pub(super) fn left(&self, check: &CheckAnswer<'_>) -> Duration {
        let until = self.held_until.unwrap_or(check.answered);
        until.saturating_since(check.answered)
    }

    pub(super) fn is_held(&self, check: &CheckAnswer<'_>) -> bool {
        !self.left(check).is_zero()
    }

    /// The node forgot its grants, by what this client knows.
    pub(super) fn forgot(&mut self, check: &CheckAnswer<'_>, cause: Cause) -> Action {
        // This also holds if the write of another client, with any marker, comes first.
        self.hold_for(self.peers.quarantine(), cause, check.answered);
        self.quarantine(check, cause)
    }

    pub(super) fn quarantine(&self, check: &CheckAnswer<'_>, cause: Cause) -> Action {
        let quarantine = self.peers.quarantine();
        let until = check.time.saturating_add(quarantine);
        let reason = held(Some(cause), quarantine);
        self.write(check, until, cause, reason)
    }

    /// An operator's word ends what this client knew before it was given, and nothing else. What the
    /// same check shows is recorded afterwards.
    pub(super) fn heed_the_operator(&mut self, check: &CheckAnswer<'_>, ours: Option<&Marker>) {
        let taken = ours.filter(|found| found.cause == Cause::Idle);
        let word = if check.marker == Some(IDLE) {
            Some(OperatorIdle::Given)
        } else {
            taken.map(|found| OperatorIdle::Taken(found.since_ms))
        };
        let is_news = match (self.operator_idle, word) {
            (_, None) | (Some(OperatorIdle::Given), Some(_)) => false,
            (before, now) => before != now,
        };
        self.operator_idle = word;
        if is_news {
            self.held_until = None;
            self.cause = None;
            self.suspicion = None;
            self.unwritten = None;
        }
    }

    pub(super) fn hold_for(&mut self, span: Duration, cause: Cause, now: Moment) {
        self.held_until = self.held_until.max(Some(now.saturating_add(span)));
        self.cause = Some(cause);
    }
}
