//! What the holders and the handles of a lease share: its state, and how it changes.

use std::mem;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::sync::Notify;

use crate::context::Context;
use crate::env::timeout::before;
use crate::env::{Clock, Moment};
use crate::error::LeaseEnd;
use crate::panics::{caught, wake};
use crate::quorum::claim::Claim;
use crate::quorum::lock_protocol::TurnRule;
use crate::quorum::terms::{Terms, third_left};
use crate::request::Request;
use crate::waiting::budget::RetryBudget;
use crate::waiting::handed_claim::HandedClaim;
use crate::waiting::{ClaimOutcome, LineKey, Turn};

use super::{Leases, ObserveExtensions};

pub(crate) struct LeaseShared {
    pub(super) leases: Arc<Leases>,
    pub(super) claim: Arc<Claim>,
    /// The request and the terms of the acquisition.
    pub(super) request: Request,
    pub(super) terms: Terms,
    /// The time that the first holder waited for the lock, and the number of its attempts.
    pub(super) waited: Duration,
    pub(super) attempts: u32,
    pub(super) state: Mutex<LeaseState>,
    /// Wakes the tasks that wait under the lease.
    pub(super) changed: Notify,
}

pub(super) struct LeaseState {
    /// The number of holders that share the lock. The last one to leave releases it. Zero once it is released.
    pub(super) holders: u32,
    pub(super) deadline: Moment,
    /// The moment when a third of the validity is left.
    pub(super) expiring: Moment,
    /// True once the process is about to end.
    pub(super) is_shutdown_announced: bool,
    pub(super) over: Option<LeaseEnd>,
    /// True once the lease was revoked. Then a body ends that would go on without the lock.
    pub(super) is_revoked: bool,
    /// Why the deadline is not moved any further, if that is known: the last extension found no majority, or the lease
    /// has been renewed for as long as its request asks.
    pub(super) not_prolonged: Option<LeaseEnd>,
    /// The number of renewals that are running.
    pub(super) renewals: u32,
    pub(super) extensions: u32,
    /// The bodies that wait, by their numbers, and the last number.
    pub(super) bodies: SmallVec<[(u32, Waker); 1]>,
    pub(super) last_body: u32,
    /// The turn in this lease's line, until the lease is over. `None` if the turn was passed on at once.
    turn: Option<Turn>,
    pub(super) observer: Option<Arc<dyn ObserveExtensions>>,
}

impl LeaseState {
    /// The reason why the lease is over at `now`, its deadline included.
    pub(super) fn over_at(&self, now: Moment) -> Option<LeaseEnd> {
        let ended = || match &self.not_prolonged {
            Some(why) => why.clone(),
            None if self.renewals > 0 => LeaseEnd::StoodStill,
            None => LeaseEnd::Expired,
        };
        self.over
            .clone()
            .or_else(|| (now >= self.deadline).then(ended))
    }

    /// Returns the waker of a body, to be dropped once the mutex is unlocked.
    pub(super) fn forget_body(&mut self, number: u32) -> Option<(u32, Waker)> {
        let place = self.bodies.iter().position(|(it, _)| *it == number);
        place.map(|place| self.bodies.swap_remove(place))
    }

    /// Records why the lease is over, unless it is over already, and returns the turn: the next in line may ask the
    /// nodes. A lease past its deadline has expired, whichever other end is noticed later.
    fn end(&mut self, over: LeaseEnd, now: Moment) -> Option<Turn> {
        if self.over_at(now).is_some() {
            return None;
        }
        self.over = Some(over);
        self.turn.take()
    }
}

impl LeaseShared {
    pub(super) fn new(
        leases: &Arc<Leases>,
        claim: Arc<Claim>,
        request: &Request,
        budget: &RetryBudget<'_>,
        terms: Terms,
        turn: Option<Turn>,
    ) -> Self {
        Self {
            leases: Arc::clone(leases),
            claim,
            request: request.clone(),
            terms,
            waited: terms.granted_at.saturating_since(budget.began),
            attempts: budget.attempts,
            state: Mutex::new(LeaseState {
                holders: 1,
                deadline: terms.deadline,
                expiring: terms.expiring,
                is_shutdown_announced: false,
                over: None,
                is_revoked: false,
                not_prolonged: None,
                renewals: 0,
                extensions: 0,
                bodies: SmallVec::new(),
                last_body: 0,
                turn,
                observer: None,
            }),
            changed: Notify::new(),
        }
    }

    pub(super) fn context(&self) -> &Context {
        &self.leases.context
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        self.leases.context.clock()
    }

    pub(super) fn now(&self) -> Moment {
        self.clock().now()
    }

    pub(super) fn deadline(&self) -> Moment {
        self.state.lock().deadline
    }

    pub(super) fn line_key(&self) -> LineKey {
        LineKey::new(
            self.claim.protocol.line_keys(),
            self.request.kind,
            &self.claim.nodes,
        )
    }

    /// The names of the nodes, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.claim.nodes.iter().map(|node| node.name())
    }

    /// The names of the pools on which the lease is held: `a,b,c`.
    pub(super) fn pools(&self) -> String {
        self.names().collect::<Vec<_>>().join(",")
    }

    pub(super) fn over(&self) -> Option<LeaseEnd> {
        // The clock is read before the mutex is taken: other holders of the lease do not wait for that read.
        let now = self.now();
        self.state.lock().over_at(now)
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
            let now = self.now();
            let looked = look(&self.state.lock(), now);
            match looked {
                Ok(found) => return found,
                // An extension moves these moments later. The next look sees that.
                Err(again) => before(self.clock(), again, changed).await,
            };
        }
    }

    /// Changes the state, and wakes the tasks that wait under the lease.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut LeaseState) -> T) -> T {
        let (changed, bodies) = {
            let mut state = self.state.lock();
            (change(&mut state), mem::take(&mut state.bodies))
        };
        bodies.into_iter().for_each(|(_, waker)| wake(waker));
        caught("a waker", || self.changed.notify_waiters());
        changed
    }

    /// Ends the lease, unless it is over already.
    pub(super) fn lose(&self, over: LeaseEnd) {
        let now = self.now();
        // The turn is passed on outside of the mutex.
        let _turn = self.change(|state| state.end(over, now));
    }

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
        state.not_prolonged = None;
        state.extensions = state.extensions.saturating_add(1);
        if deadline > state.deadline {
            state.deadline = deadline;
            state.expiring = state.expiring.max(third_left(started, deadline));
            if let Some(turn) = &state.turn {
                turn.prolong(deadline);
            }
        }
        Ok(())
    }

    /// One holder leaves. Returns what was sent, if the holder was the last one.
    pub(super) fn leave(&self) -> Option<ClaimOutcome> {
        self.release(LeaseEnd::Released, 1)
    }

    /// Ends the lease for all holders, and sends the release.
    pub(super) fn revoke_and_release(&self) -> Option<ClaimOutcome> {
        self.release(LeaseEnd::Revoked, u32::MAX)
    }

    /// Once all holders have left, all handles lose their effect. Then the lock is handed over, or the release is
    /// sent. Only the first call does this.
    fn release(&self, over: LeaseEnd, leaving: u32) -> Option<ClaimOutcome> {
        let (leases, kind) = (&self.leases, &self.claim.protocol);
        let hands_over = over == LeaseEnd::Released && kind.turn_rule() == TurnRule::HandOver;
        let (turn, handed_claim) = self.change(|state| {
            let is_held = state.holders > 0;
            state.holders = state.holders.saturating_sub(leaving);
            if !is_held || state.holders > 0 {
                return None;
            }
            state.over.get_or_insert(over);
            let handed_claim = HandedClaim {
                claim: Arc::clone(&self.claim),
                deadline: state.deadline,
                expiring: state.expiring,
                ttl: self.request.ttl,
                clock_drift_factor: self.request.clock_drift_factor,
                is_fenced: self.terms.fencing_token.is_some(),
                is_taken_over: false,
            };
            Some((state.turn.take(), handed_claim))
        })?;
        let left = match turn {
            Some(turn) => turn.end(handed_claim, hands_over),
            // The lease was lost, or passed its turn on when it won. Other callers ask the nodes already.
            None => handed_claim.release().map(ClaimOutcome::Released),
        };
        if kind.turn_rule() == TurnRule::PassOn && kind.permit().is_some() {
            leases.lines.ask_now(&self.line_key());
        }
        left
    }
}
