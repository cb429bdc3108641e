//! Handing a lock over to the next caller of the same process.
//!
//! What a lease leaves on the nodes when it ends goes to the next in line in one of two gears. While
//! it is nearly as good as new and no fencing token is wanted, the next one *takes it over* as it is,
//! owner token and all, with no message. Otherwise its attempt *supersedes* it: an acquisition with a
//! token of its own, to which keys that hold the old one give way, in one round trip instead of a
//! release and an acquisition.
//!
//! Either way the lease before is over, so at no time are there two.

use std::sync::Arc;
use std::time::Duration;

use crate::env::{Clock, Moment};
use crate::lease::{LeaseShared, Terms};
use crate::model::request::{Request, drift};
use crate::model::token::OwnerToken;
use crate::node::{Node, NodeSet};
use crate::quorum::claim::Claim;
use crate::quorum::round::{Round, bit};

/// How long callers of one process may hand a lock over to each other, before it is released for
/// those of other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// How often, one after the other. Zero: every lock is released for everybody.
    pub most: u32,
    /// For how long; a holder that has it then may finish.
    pub longest: Duration,
}

impl Default for Handover {
    fn default() -> Self {
        Self {
            most: 32,
            longest: Duration::from_millis(50),
        }
    }
}

/// What a lease that is over has left on the nodes. Dropping it sends the release.
pub(crate) struct Inheritance {
    claim: Arc<Claim>,
    deadline: Moment,
    expiring: Moment,
    ttl: Duration,
    clock_drift_factor: f64,
    is_fenced: bool,
    /// Who has it sees to the release.
    is_passed_on: bool,
}

impl Inheritance {
    pub(crate) fn of(lease: &LeaseShared) -> Self {
        let (deadline, expiring) = {
            let state = lease.lock();
            (state.deadline, state.expiring)
        };
        Self {
            claim: Arc::clone(&lease.claim),
            deadline,
            expiring,
            ttl: lease.ttl,
            clock_drift_factor: lease.clock_drift_factor,
            is_fenced: lease.fencing_token.is_some(),
            is_passed_on: false,
        }
    }

    /// Whether `request` may have the claim as it is: where it is what an acquisition now would give,
    /// but for a tenth of the validity. Whether the nodes have forgotten it is looked at before the
    /// clock, as after an attempt.
    pub(crate) fn suits(&self, request: &Request, clock: &dyn Clock) -> bool {
        let is_alike = !request.fencing
            && !self.is_fenced
            && request.min_hold.is_zero()
            && request.ttl == self.ttl
            && request.clock_drift_factor.to_bits() == self.clock_drift_factor.to_bits()
            // The keys may live longer than was asked for.
            && self.claim.longest_ttl() == self.ttl;
        if !is_alike || !self.claim.is_vouched_for() {
            return false;
        }
        let whole = self
            .ttl
            .saturating_sub(drift(self.ttl, self.clock_drift_factor));
        let left = self.deadline.saturating_since(clock.now());
        left >= whole / 10 * 9 && left >= request.min_validity
    }

    /// The terms on which the claim goes to a holder who takes it over `now`.
    pub(crate) fn terms(&self, now: Moment) -> Terms {
        Terms {
            acquired_at: now,
            granted_at: now,
            deadline: self.deadline,
            expiring: self.expiring,
            fencing_token: None,
        }
    }

    /// The claim, for the next lease to hold.
    pub(crate) fn take_over(mut self) -> Arc<Claim> {
        self.is_passed_on = true;
        Arc::clone(&self.claim)
    }

    /// The token that gives way to the next one's, which is about to be sent.
    pub(crate) fn give_way(&self) -> OwnerToken {
        self.claim.retract();
        self.claim.token.clone()
    }

    /// Releases it everywhere. `None` where that was done before.
    pub(crate) fn release(mut self) -> Option<Arc<Round>> {
        self.is_passed_on = true;
        self.claim.release()
    }

    /// Releases what did not give way: on all nodes but those of `nodes` whose bit is set in
    /// `superseded`, which have the next one's keys. The next one may have named the same nodes in
    /// another order.
    pub(crate) fn superseded(mut self, nodes: &NodeSet, superseded: u64) {
        self.is_passed_on = true;
        let own = &self.claim.nodes;
        let superseded = if Arc::ptr_eq(own, nodes) {
            superseded
        } else {
            let gave_way = |of: &Arc<dyn Node>| {
                let seat = nodes.iter().position(|node| Arc::ptr_eq(node, of));
                seat.is_some_and(|seat| superseded & bit(seat) != 0)
            };
            let own = own.iter().enumerate();
            own.filter(|(_, node)| gave_way(node))
                .fold(0, |seats, (seat, _)| seats | bit(seat))
        };
        self.claim.release_beyond(superseded);
    }
}

impl Drop for Inheritance {
    fn drop(&mut self) {
        if !self.is_passed_on {
            self.claim.release();
        }
    }
}
