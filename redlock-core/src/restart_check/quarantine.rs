//! A node's quarantine, as its marker and as this client's own clock have it, and what ends it.

use std::time::Duration;

use crate::env::Moment;

use super::note::{Cause, Found, Note, held, is_idle};
use super::opening::AT_ONCE;
use super::{Action, CLOCK_WINDOW, Check, Sentry};

/// A quarantine that is longer than this, and than the client's own, is no quarantine but garbage.
const WILD: Duration = Duration::from_secs(24 * 60 * 60);

/// A node in quarantine is looked at no less often.
const LATEST: Duration = Duration::from_secs(5);

/// An operator's word that no lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// As the operator wrote it.
    Given,
    /// As the client that came by first wrote it down, at that time of the node's.
    Taken(u64),
}

fn set_back(from: Duration, to: Duration) -> Cause {
    let back = i64::try_from(to.saturating_sub(from).as_millis()).unwrap_or(i64::MAX);
    Cause::Stepped { by_ms: -back }
}

impl Sentry {
    /// A marker of this very process: the quarantine that it tells of, or none.
    pub(super) fn follow(&mut self, check: &Check<'_>, found: &Found) -> Action {
        let quarantine = self.fleet.quarantine();
        let mut until = found.marker.until();
        if let Some(note) = &found.note
            && note.since() > check.time.saturating_add(CLOCK_WINDOW)
        {
            // The node's clock was set back behind the marker, on all nodes alike if no step was seen.
            if until > note.since() {
                // How much of the quarantine is over is not known.
                return self.forgot(check, set_back(check.time, note.since()));
            }
            until = check.time;
        }
        if until.saturating_sub(check.time) > quarantine.max(WILD) {
            return self.forgot(check, Cause::Garbled);
        }
        // Who wrote it may have had a shorter quarantine than others have.
        let closed = found.note.as_ref().filter(|note| note.cause.closes());
        let ends = closed.map(|note| note.since().min(check.time).saturating_add(quarantine));
        let left = ends
            .unwrap_or_default()
            .max(until)
            .saturating_sub(check.time);
        if !left.is_zero() {
            self.held_until = self
                .held_until
                .max(Some(check.answered.saturating_add(left.min(quarantine))));
            if let Some(note) = closed {
                let ago = check.time.saturating_sub(note.since());
                self.cause = Some((note.cause, check.answered.saturating_sub(ago)));
            }
        }
        let left = left.max(self.left(check));
        if left.is_zero() {
            self.held_until = None;
            self.cause = None;
            return Action::Vote;
        }
        self.hold(check, left)
    }

    /// The node is in quarantine for so long.
    pub(super) fn hold(&self, check: &Check<'_>, left: Duration) -> Action {
        let ago = |seen: Moment| check.answered.saturating_since(seen);
        Action::Hold {
            reason: held(self.cause.map(|(cause, seen)| (cause, ago(seen))), left),
            look_again: left.clamp(AT_ONCE, LATEST),
            is_settled: true,
        }
    }

    /// How long the node does not vote by this client's own clock.
    pub(super) fn left(&self, check: &Check<'_>) -> Duration {
        let until = self.held_until.unwrap_or(check.answered);
        until.saturating_since(check.answered)
    }

    pub(super) fn is_held(&self, check: &Check<'_>) -> bool {
        !self.left(check).is_zero()
    }

    /// The node forgot what it granted, for all this client knows.
    pub(super) fn forgot(&mut self, check: &Check<'_>, cause: Cause) -> Action {
        // Also where somebody else's write comes first, whatever it says.
        self.hold_for(self.fleet.quarantine(), cause, check.answered);
        self.quarantine(check, cause)
    }

    pub(super) fn quarantine(&self, check: &Check<'_>, cause: Cause) -> Action {
        let quarantine = self.fleet.quarantine();
        let until = check.time.saturating_add(quarantine);
        let reason = held(Some((cause, Duration::ZERO)), quarantine);
        self.write(check, until, cause, reason)
    }

    /// An operator's word ends what this client knew before it was given, and nothing else: not
    /// what is seen along with it.
    pub(super) fn heed_the_operator(
        &mut self,
        check: &Check<'_>,
        ours: Option<&Found>,
        has_stepped: bool,
    ) {
        let taken = |found: &Found| match &found.note {
            Some(Note {
                cause: Cause::Idle,
                since_ms,
                ..
            }) => Some(Word::Taken(*since_ms)),
            _ => None,
        };
        let word = if check.marker.is_some_and(is_idle) {
            Some(Word::Given)
        } else {
            ours.and_then(taken)
        };
        let is_news = match (self.word, word) {
            (_, None) | (Some(Word::Given), Some(_)) => false,
            (before, now) => before != now,
        };
        self.word = word;
        if is_news && !has_stepped {
            self.held_until = None;
            self.cause = None;
            self.suspicion = None;
            self.unwritten = None;
        }
    }

    pub(super) fn hold_for(&mut self, span: Duration, cause: Cause, now: Moment) {
        self.held_until = self.held_until.max(Some(now.saturating_add(span)));
        if self.cause.is_none_or(|(before, _)| before != cause) {
            self.cause = Some((cause, now));
        }
    }
}
