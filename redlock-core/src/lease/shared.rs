//! The state of a lease, which its holders and handles share, and every way in which it changes.
#![doc = include_str!("life_of_a_lease.md")]

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::context::Context;
use crate::env::timeout::before;
use crate::env::{Clock, Moment};
use crate::error::LeaseEnd;
use crate::panics::{caught, wake};
use crate::quorum::claim::Claim;
use crate::quorum::lock_protocol::TurnRule;
use crate::quorum::validity::{Validity, third_left};
use crate::request::Request;
use crate::waiting::budget::RetryBudget;
use crate::waiting::handed_claim::HandedClaim;
use crate::waiting::{ClaimOutcome, LineKey, Turn};

use super::body::BodyWakers;
use super::{ClientParts, ObserveExtensions, OnLost};

/// A lease as its holders and handles share it. Its methods are the only way to the state.
pub(crate) struct LeaseShared {
    pub(super) parts: Arc<ClientParts>,
    pub(super) claim: Arc<Claim>,
    pub(super) request: Request,
    /// The validity that the acquisition gave.
    pub(super) granted: Validity,
    /// The time that the first holder waited for the lock, and the number of its attempts.
    pub(super) waited: Duration,
    pub(super) attempts: u32,
    state: Mutex<LeaseState>,
    /// Wakes the tasks that wait under the lease.
    changed: Notify,
}

#[derive(Default)]
pub(super) struct LeaseState {
    /// The number of holders that share the lock. The last one to leave releases it. Zero once it is released.
    holders: u32,
    /// The validity by the last extension.
    validity: Validity,
    /// True once the process is about to end.
    is_shutdown_announced: bool,
    over: Option<LeaseEnd>,
    /// True once the lease was revoked. Then a body ends that would go on without the lock.
    is_revoked: bool,
    /// The reason why the lease ends at its deadline, if it is known before.
    end_at_deadline: Option<LeaseEnd>,
    /// The number of renewals that are running.
    renewals: u32,
    extensions: u32,
    bodies: BodyWakers,
    /// The turn in this lease's line, until the lease is over. `None` if the turn was passed on at once.
    turn: Option<Turn>,
    observer: Option<Arc<dyn ObserveExtensions>>,
}

impl LeaseState {
    /// Returns why the lease is over at `now`. At the deadline itself it is over.
    fn over_at(&self, now: Moment) -> Option<LeaseEnd> {
        let ended = || match &self.end_at_deadline {
            Some(why) => why.clone(),
            None if self.renewals > 0 => LeaseEnd::StoodStill,
            None => LeaseEnd::Expired,
        };
        self.over
            .clone()
            .or_else(|| (now >= self.validity.deadline).then(ended))
    }

    /// Returns the moment when the lease is about to end, or `Ok` if it is about to end at `now`.
    pub(super) fn expires_soon(&self, now: Moment) -> Result<(), Moment> {
        if self.is_shutdown_announced || self.over.is_some() || now >= self.validity.expiring {
            return Ok(());
        }
        Err(self.validity.expiring)
    }

    /// Returns the reason why a body stops at `now`. With [`OnLost::Continue`] it stops only if the lease is revoked,
    /// before or after its end.
    fn stop_reason(&self, policy: OnLost, now: Moment) -> Option<LeaseEnd> {
        match policy {
            OnLost::Cancel => self.over_at(now),
            OnLost::Continue => self.is_revoked.then_some(LeaseEnd::Revoked),
        }
    }

    /// Records why the lease is over, unless it is over already. Returns the turn, so that the caller drops it outside of
    /// the mutex, and the next in line may ask the nodes. A lease past its deadline has expired, whichever other end is
    /// noticed later.
    fn end(&mut self, over: LeaseEnd, now: Moment) -> Option<Turn> {
        if self.over_at(now).is_some() {
            return None;
        }
        self.over = Some(over);
        self.turn.take()
    }
}

impl LeaseShared {
    pub(crate) fn new(
        parts: &Arc<ClientParts>,
        claim: Arc<Claim>,
        request: &Request,
        budget: &RetryBudget<'_>,
        granted: Validity,
        turn: Option<Turn>,
    ) -> Self {
        Self {
            parts: Arc::clone(parts),
            claim,
            request: request.clone(),
            granted,
            waited: granted.granted_at.saturating_since(budget.began),
            attempts: budget.attempts,
            state: Mutex::new(LeaseState {
                holders: 1,
                validity: granted,
                turn,
                ..LeaseState::default()
            }),
            changed: Notify::new(),
        }
    }

    pub(super) fn context(&self) -> &Context {
        &self.parts.context
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        self.parts.context.clock()
    }

    pub(super) fn now(&self) -> Moment {
        self.clock().now()
    }

    pub(super) fn line_key(&self) -> LineKey {
        LineKey::new(
            self.claim.protocol.line_keys(),
            self.request.kind,
            &self.claim.nodes,
        )
    }

    /// Returns the names of the nodes, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.claim.nodes.iter().map(|node| node.name())
    }

    /// Returns the names of the pools on which the lease is held: `a,b,c`.
    pub(super) fn pools(&self) -> String {
        self.names().collect::<Vec<_>>().join(",")
    }

    pub(super) fn deadline(&self) -> Moment {
        self.state.lock().validity.deadline
    }

    pub(super) fn extensions(&self) -> u32 {
        self.state.lock().extensions
    }

    pub(super) fn holders(&self) -> u32 {
        self.state.lock().holders
    }

    pub(super) fn observer(&self) -> Option<Arc<dyn ObserveExtensions>> {
        self.state.lock().observer.clone()
    }

    /// Returns the time for which the lock is certainly ours.
    pub(super) fn validity(&self) -> Duration {
        self.look(|state, now| match state.over {
            Some(_) => Duration::ZERO,
            None => state.validity.deadline.saturating_since(now),
        })
    }

    pub(super) fn over(&self) -> Option<LeaseEnd> {
        self.look(LeaseState::over_at)
    }

    pub(super) fn stop_reason(&self, policy: OnLost) -> Option<LeaseEnd> {
        self.look(|state, now| state.stop_reason(policy, now))
    }

    /// Waits until the lease is over, and returns the reason.
    pub(super) async fn lost(&self) -> LeaseEnd {
        self.until(|state, now| state.over_at(now).ok_or(state.validity.deadline))
            .await
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&LeaseState, Moment) -> T) -> T {
        // The clock is read before the mutex is taken: other holders of the lease do not wait for that read.
        let now = self.now();
        look(&self.state.lock(), now)
    }

    /// Waits until `look` finds what is wanted. Otherwise `look` returns the moment of the next look, which comes
    /// sooner if the state changes.
    pub(super) async fn until<T>(
        &self,
        look: impl Fn(&LeaseState, Moment) -> Result<T, Moment>,
    ) -> T {
        loop {
            // Begun before the look, so that no change is missed.
            let changed = self.changed.notified();
            match self.look(&look) {
                Ok(found) => return found,
                // An extension moves these moments later. The next look sees that.
                Err(again) => before(self.clock(), again, changed).await,
            };
        }
    }

    /// Changes the state, and wakes the tasks that wait under the lease.
    fn change<T>(&self, change: impl FnOnce(&mut LeaseState) -> T) -> T {
        let (changed, wakers) = {
            let mut state = self.state.lock();
            (change(&mut state), state.bodies.take_all())
        };
        wakers.into_iter().for_each(|(_, waker)| wake(waker));
        caught("a waker", || self.changed.notify_waiters());
        changed
    }

    /// Moves the deadline forward, never back. The validity counts from `started`, when the extension
    /// was sent.
    ///
    /// # Errors
    /// The reason, if the lease is over.
    pub(super) fn prolong(&self, started: Moment, deadline: Moment) -> Result<(), LeaseEnd> {
        let mut state = self.state.lock();
        // The clock is read under the mutex: no other task may have seen the lease end before.
        if let Some(over) = state.over_at(self.now()) {
            return Err(over);
        }
        state.end_at_deadline = None;
        state.extensions = state.extensions.saturating_add(1);
        if deadline > state.validity.deadline {
            state.validity.deadline = deadline;
            state.validity.expiring = state.validity.expiring.max(third_left(started, deadline));
            if let Some(turn) = &state.turn {
                turn.prolong(deadline);
            }
        }
        Ok(())
    }

    /// Records the reason why the lease will end at its deadline, unless a later extension moves the deadline.
    pub(super) fn set_end_at_deadline(&self, end: LeaseEnd) {
        self.state.lock().end_at_deadline = Some(end);
    }

    /// Records that one more renewal runs.
    pub(super) fn add_renewal(&self) {
        self.state.lock().renewals += 1;
    }

    /// Records that a renewal has stopped.
    pub(super) fn remove_renewal(&self) {
        self.state.lock().renewals -= 1;
    }

    /// Records why a renewal ended. Without its renewal, `over_at` would say `Expired` in the place of `StoodStill`.
    pub(super) fn keep_end(&self, over: LeaseEnd) {
        self.state.lock().over.get_or_insert(over);
    }

    /// Makes `observer` the lease's observer. False if the lease has one already.
    pub(super) fn set_observer(&self, observer: Arc<dyn ObserveExtensions>) -> bool {
        let mut state = self.state.lock();
        let is_first = state.observer.is_none();
        state.observer.get_or_insert(observer);
        is_first
    }

    /// Makes a waiting body wake at the next change of the state. Returns the deadline.
    ///
    /// # Errors
    /// The reason, if the body has to stop already.
    pub(super) fn register_body(
        &self,
        number: &mut u32,
        waker: &Waker,
        policy: OnLost,
    ) -> Result<Moment, LeaseEnd> {
        // Dropped once the mutex is unlocked: it may be the last handle of its task.
        let _earlier;
        let mut state = self.state.lock();
        _earlier = state.bodies.register(number, waker);
        // No deadline has passed at the beginning of time, so only a recorded end counts. The timer watches the deadline.
        let reason = state.stop_reason(policy, Moment::default());
        reason.map_or(Ok(state.validity.deadline), Err)
    }

    pub(super) fn forget_body(&self, number: u32) {
        let _waker = self.state.lock().bodies.forget(number);
    }

    /// Adds a holder. False if the lease is over.
    pub(super) fn join(&self) -> bool {
        let now = self.now();
        let mut state = self.state.lock();
        let is_valid = state.over_at(now).is_none();
        state.holders += u32::from(is_valid);
        is_valid
    }

    pub(super) fn announce_shutdown(&self) {
        self.change(|state| state.is_shutdown_announced = true);
    }

    /// Ends the lease, unless it is over already.
    pub(super) fn lose(&self, over: LeaseEnd) {
        let now = self.now();
        // The turn is passed on outside of the mutex.
        let _turn = self.change(|state| state.end(over, now));
    }

    /// Ends the lease for a shutdown, and stops its bodies.
    pub(super) fn revoke(&self) {
        let now = self.now();
        let _turn = self.change(|state| {
            if state.holders == 0 {
                return None;
            }
            // Also if the lease is over: a body may go on without it.
            state.is_revoked = true;
            state.end(LeaseEnd::Revoked, now)
        });
    }

    /// Removes `leaving` holders. After the last one, all handles lose their effect. Then the lock is handed over, or
    /// the release is sent. Only the first call does this, and returns what was sent.
    pub(super) fn release(&self, over: LeaseEnd, leaving: u32) -> Option<ClaimOutcome> {
        let protocol = &self.claim.protocol;
        let now = self.now();
        let hands_over = over == LeaseEnd::Released && protocol.turn_rule() == TurnRule::HandOver;
        let (turn, left_claim) = self.change(|state| {
            let is_held = state.holders > 0;
            state.holders = state.holders.saturating_sub(leaving);
            if !is_held || state.holders > 0 {
                return None;
            }
            let ended = state.over_at(now).unwrap_or(over);
            state.over.get_or_insert(ended);
            let left_claim = HandedClaim {
                claim: Arc::clone(&self.claim),
                validity: state.validity,
                ttl: self.request.ttl,
                clock_drift_factor: self.request.clock_drift_factor,
                is_taken_over: false,
            };
            Some((state.turn.take(), left_claim))
        })?;
        let left = match turn {
            Some(turn) => turn.end(left_claim, hands_over),
            // The lease was lost, or passed its turn on when it won. Other callers ask the nodes already.
            None => left_claim.release().map(ClaimOutcome::Released),
        };
        if protocol.turn_rule() == TurnRule::PassOn && protocol.permit().is_some() {
            self.parts.lines.ask_now(&self.line_key());
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::error::{ExtendError, LeaseEnd};
    use crate::lease::ObserveExtensions;
    use crate::waiting::tests::{MS, Scene, TTL, once, released};

    #[test]
    fn a_second_observer_of_extensions_is_refused() {
        struct Idle;
        impl ObserveExtensions for Idle {
            fn observe_extension(&self, _: Result<(), &ExtendError>) {}
        }
        let lease = Scene::new().acquired(&once());
        assert!(lease.observe_extensions(Arc::new(Idle)));
        assert!(!lease.observe_extensions(Arc::new(Idle)));
    }

    #[test]
    fn a_lease_that_is_released_past_its_deadline_has_expired() {
        let scene = Scene::new();
        let lease = scene.acquired(&once());
        let handle = lease.handle();
        scene.clock.advance(TTL);
        released(lease);
        assert_eq!(handle.over(), Some(LeaseEnd::Expired));
    }

    #[test]
    fn the_moment_of_expiring_only_moves_later() {
        let lease = Scene::new().acquired(&once());
        let now = lease.shared.now();
        let after = |millis| now.saturating_add(MS * millis);
        let expiring = || lease.shared.state.lock().validity.expiring;
        // The extension that began first is counted last.
        lease.shared.prolong(after(5_000), after(60_000)).unwrap();
        let before = expiring();
        lease.shared.prolong(after(1_000), after(60_100)).unwrap();
        assert_eq!(lease.shared.deadline(), after(60_100));
        assert_eq!(expiring(), before);
    }
}
