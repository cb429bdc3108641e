//! The rules about locks that one caller of a process hands over to the next.

use std::time::Duration;

use redlock_core::env::Clock as _;
use redlock_core::error::LeaseEnd;
use redlock_core::quorum::majority;

use super::{Broken, allowed};
use crate::history::{History, Inner, Invariant, LeaseRecord, on_clock};

/// The time for which a lock was handed over within a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chain {
    /// When the first of the holders got it.
    since: Duration,
    /// The time that the last acquisition took.
    pub(super) trip: Duration,
}

impl History {
    /// Lease `number`, not yet among the others, came of `attempt`. What it has from the lease before
    /// it was handed over to it within the bounds.
    pub(super) fn check_chain(
        &self,
        inner: &mut Inner,
        new: &LeaseRecord,
        broken: &mut Broken,
    ) -> Chain {
        let attempt = &inner.attempts[new.attempt];
        let clock = &inner.calls[new.call].clock;
        let now = self.world.now();
        let mut leases = inner.leases.iter();
        let taken_over = leases.rfind(|lease| lease.attempt == new.attempt);
        let is_whole = taken_over.is_some();
        let follows = attempt.follows.and_then(|lease| inner.leases.get(lease));
        // A process may stand still between its look at the clock and the sending.
        let whole = allowed(
            attempt.ttl,
            inner.calls[new.call].request.clock_drift_factor,
        );
        let own_trip = whole.saturating_sub(self.world.observing(|| new.handle.validity()));
        let Some(before) = taken_over.or(follows) else {
            return Chain {
                since: now,
                trip: own_trip,
            };
        };
        let Chain { since, trip } = before.chain;
        let lasted = before
            .left_at
            .map(|left_at| on_clock(clock, since, left_at));
        let id = &attempt.short_id;
        let longest = self.rules.longest_streak(trip);
        if lasted.is_some_and(|lasted| lasted >= longest) {
            let text = format!("{id} was handed over after {lasted:?}");
            broken.push((Invariant::Hogged, text));
        }
        let chain = Chain {
            since,
            trip: if is_whole { trip } else { own_trip },
        };
        if is_whole {
            self.check_taken_over(inner, new, before, broken);
            inner.coverage.taken_over += 1;
            inner.coverage.taken_over_fenced += u64::from(new.token.is_some());
        } else {
            inner.coverage.followed += 1;
        }
        chain
    }

    /// A lease that was handed over unchanged must be as good as one that is acquired now, except for
    /// a tenth of its validity.
    fn check_taken_over(
        &self,
        inner: &Inner,
        new: &LeaseRecord,
        before: &LeaseRecord,
        broken: &mut Broken,
    ) {
        let call = &inner.calls[new.call];
        let (wanted, had) = (&call.request, &inner.calls[before.call].request);
        let id = &inner.attempts[new.attempt].short_id;
        if self.world.observing(|| before.handle.over().is_none()) {
            let text = format!("{id} was taken over by another, and is still held");
            broken.push((Invariant::HandedOverAlive, text));
        }
        let mut wrong = |what: &str| {
            let text = format!("{id} was taken over, though {what}");
            broken.push((Invariant::TakenOver, text));
        };
        if wanted.fencing != had.fencing {
            wrong("only one of the two has a fencing token");
        }
        if wanted.ttl != had.ttl {
            wrong("another ttl is wanted");
        }
        if before.ended != Some(LeaseEnd::Released) {
            wrong("it was lost before");
        }
        if call.is_prompt {
            let left = self.world.observing(|| new.handle.validity());
            let whole = allowed(wanted.ttl, wanted.clock_drift_factor);
            if left + Duration::from_micros(1) < whole / 10 * 9 || left < wanted.min_validity {
                wrong(&format!("only {left:?} of {whole:?} are left"));
            }
        }
    }

    /// A lock that is held now was granted by a majority for long enough: by the acquisition, or by an
    /// extension since.
    pub(super) fn check_granted(
        &self,
        inner: &Inner,
        new: &LeaseRecord,
        validity: Duration,
        broken: &mut Broken,
    ) {
        let (call, attempt) = (&inner.calls[new.call], &inner.attempts[new.attempt]);
        let clock = &call.clock;
        let factor = call.request.clock_drift_factor;
        let until = |sent, ttl| {
            let granted = clock.moment_at(sent);
            granted.saturating_add(allowed(ttl, factor))
        };
        let mut latest = until(attempt.staked_at, attempt.ttl);
        for extension in &attempt.extensions {
            let granted = usize::try_from(extension.seats.count_ones()).unwrap_or(0);
            if granted >= majority(self.rules.nodes) {
                latest = latest.max(until(extension.sent_at, extension.ttl));
            }
        }
        let end = self
            .world
            .observing(|| clock.now())
            .saturating_add(validity);
        if !validity.is_zero() && end > latest.saturating_add(Duration::from_micros(1)) {
            let (id, more) = (&attempt.short_id, end.saturating_since(latest));
            let text = format!("{id} is valid for {more:?} longer than a majority granted it");
            broken.push((Invariant::Validity, text));
        }
    }
}
