//! The state of a lease, which its holders and handles share, and its changes.
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

/// A lease as its holders and handles share it. Only methods of this type read and change the state.
pub(crate) struct LeaseShared {
    pub(super) parts: Arc<ClientParts>,
    pub(super) claim: Arc<Claim>,
    pub(super) request: Request,
    /// The validity that the acquisition gave the lease.
    pub(super) granted: Validity,
    /// The time that the first holder waited for the lock. `attempts` is the number of that holder's attempts.
    pub(super) waited: Duration,
    pub(super) attempts: u32,
    state: Mutex<LeaseState>,
    /// Wakes the tasks that wait for a change of the lease.
    changed: Notify,
}

#[derive(Default)]
pub(super) struct LeaseState {
    /// The number of holders that share the lock. The last holder to leave releases the lock. The number is zero after
    /// the release.
    holders: u32,
    /// The validity after the last extension.
    validity: Validity,
    /// True once a shutdown of the process was announced.
    is_shutdown_announced: bool,
    over: Option<LeaseEnd>,
    /// True once the lease was revoked. A revoked lease stops even a body that would continue without the lock.
    is_revoked: bool,
    /// The reason why the lease will end at its deadline, if it is known before.
    end_at_deadline: Option<LeaseEnd>,
    /// The number of renewals that are running.
    renewals: u32,
    extensions: u32,
    bodies: BodyWakers,
    /// The turn in this lease's line, until the lease is over. `None` if the acquisition passed the turn on.
    turn: Option<Turn>,
    observer: Option<Arc<dyn ObserveExtensions>>,
}

impl LeaseState {
    /// Returns the reason why the lease is over at `now`. The lease is over at the deadline itself.
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

    /// Returns `Ok` if the lease is about to end at `now`, or the moment when it will be.
    pub(super) fn expires_soon(&self, now: Moment) -> Result<(), Moment> {
        if self.is_shutdown_announced || self.over.is_some() || now >= self.validity.expiring {
            return Ok(());
        }
        Err(self.validity.expiring)
    }

    /// Returns the reason why a body has to stop at `now`. With [`OnLost::Continue`] only a revoked lease stops the
    /// body, whether or not the lease was over before.
    fn stop_reason(&self, policy: OnLost, now: Moment) -> Option<LeaseEnd> {
        match policy {
            OnLost::Cancel => self.over_at(now),
            OnLost::Continue => self.is_revoked.then_some(LeaseEnd::Revoked),
        }
    }

    /// Ends the lease for the reason `over`, if it is still valid. Returns the turn; drop it outside of the mutex, so
    /// that the next caller in line may ask the nodes. A lease past its deadline has expired, even if another end is
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

    /// Returns the names of the pools of the lease, such as `a,b,c`.
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

    /// Returns the time for which the lock is certainly still ours.
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
        // Read the clock before locking, because other holders wait for the mutex.
        let now = self.now();
        look(&self.state.lock(), now)
    }

    /// Waits until `look` returns `Ok`. An `Err` is the moment of the next look; each change brings another one.
    pub(super) async fn until<T>(
        &self,
        look: impl Fn(&LeaseState, Moment) -> Result<T, Moment>,
    ) -> T {
        loop {
            // Begin to listen before the look, to see every change.
            let changed = self.changed.notified();
            match self.look(&look) {
                Ok(found) => return found,
                // An extension only moves this moment later, and the next look sees that.
                Err(again) => before(self.clock(), again, changed).await,
            };
        }
    }

    /// Changes the state, and then wakes the tasks that wait for changes.
    fn change<T>(&self, change: impl FnOnce(&mut LeaseState) -> T) -> T {
        let (changed, wakers) = {
            let mut state = self.state.lock();
            (change(&mut state), state.bodies.take_all())
        };
        wakers.into_iter().for_each(|(_, waker)| wake(waker));
        caught("a waker", || self.changed.notify_waiters());
        changed
    }

    /// Moves the deadline later, if the new one is later. The validity counts from `started`, the moment at which the
    /// extension was sent.
    ///
    /// # Errors
    /// The reason why the lease is over, if it is.
    pub(super) fn prolong(&self, started: Moment, deadline: Moment) -> Result<(), LeaseEnd> {
        let mut state = self.state.lock();
        // Read the clock under the mutex: otherwise another task could have seen the lease end already.
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

    /// Records the reason for an end at the deadline. A later extension removes this reason.
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

    /// Records the end that a renewal found. After the renewal, `over_at` would say `Expired`, not `StoodStill`.
    pub(super) fn keep_end(&self, over: LeaseEnd) {
        self.state.lock().over.get_or_insert(over);
    }

    /// Makes `observer` the lease's observer. Returns false if the lease has one already.
    pub(super) fn set_observer(&self, observer: Arc<dyn ObserveExtensions>) -> bool {
        let mut state = self.state.lock();
        let is_first = state.observer.is_none();
        state.observer.get_or_insert(observer);
        is_first
    }

    /// Arranges that a waiting body is woken at the next change of the state. Returns the deadline.
    ///
    /// # Errors
    /// The reason why the body has to stop already, if it has to.
    pub(super) fn register_body(
        &self,
        number: &mut u32,
        waker: &Waker,
        policy: OnLost,
    ) -> Result<Moment, LeaseEnd> {
        // The declaration before the guard drops the waker after the mutex is unlocked. The
        // waker may be the last handle of its task.
        let _earlier;
        let mut state = self.state.lock();
        _earlier = state.bodies.register(number, waker);
        // Only a recorded end counts here, because the body's timer watches the deadline. So ask for a moment before
        // all deadlines.
        let reason = state.stop_reason(policy, Moment::default());
        reason.map_or(Ok(state.validity.deadline), Err)
    }

    pub(super) fn forget_body(&self, number: u32) {
        let _waker = self.state.lock().bodies.forget(number);
    }

    /// Adds a holder. Returns false if the lease is over.
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

    /// Ends the lease, if it is still valid.
    pub(super) fn lose(&self, over: LeaseEnd) {
        let now = self.now();
        // The turn is dropped, and so passed on, outside of the mutex.
        let _turn = self.change(|state| state.end(over, now));
    }

    /// Ends the lease for a shutdown, and stops its bodies.
    pub(super) fn revoke(&self) {
        let now = self.now();
        let _turn = self.change(|state| {
            if state.holders == 0 {
                return None;
            }
            // Revoke a lease that is over too, because a body may still run after the end.
            state.is_revoked = true;
            state.end(LeaseEnd::Revoked, now)
        });
    }

    /// Removes `leaving` holders. If they were the last, all handles lose their effect, and the lock is handed over or
    /// released. Only the first call does this, and returns what became of the claim.
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
            Some(turn) => turn.end(left_claim, hands_over, now),
            // The lease was lost, or passed its turn on when it won. So other callers ask the nodes already.
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
        // The extension that began first is counted last here.
        lease.shared.prolong(after(5_000), after(60_000)).unwrap();
        let before = expiring();
        lease.shared.prolong(after(1_000), after(60_100)).unwrap();
        assert_eq!(lease.shared.deadline(), after(60_100));
        assert_eq!(expiring(), before);
    }
}
