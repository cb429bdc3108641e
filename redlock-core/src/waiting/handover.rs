//! Handing a lock over to the next caller of the same process.
#![doc = include_str!("handover.md")]

use std::sync::Arc;
use std::time::Duration;

use crate::env::{Clock, Moment};
use crate::model::limits::drift;
use crate::quorum::claim::Claim;
use crate::quorum::kind::Kind;
use crate::quorum::round::Round;
use crate::quorum::terms::Terms;
use crate::request::Request;

/// How long callers of one process may hand a lock over to each other, before the lock is released for
/// callers of other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The most hand-overs, one after the other. Zero: every lock is released for all processes.
    pub most: u32,
    /// The longest time of such hand-overs. The holder at the end of this time may finish.
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
pub(crate) struct LeftClaim {
    claim: Arc<Claim>,
    lease: EndedLease,
    /// True if the claim was released, or has moved to the next lease, which releases it.
    is_passed_on: bool,
}

/// The data of an ended lease that decide who may take its claim over.
#[derive(Clone, Copy)]
pub(crate) struct EndedLease {
    pub(crate) deadline: Moment,
    /// The moment when only a third of the validity is left.
    pub(crate) expiring: Moment,
    /// The ttl and the drift factor of its request.
    pub(crate) ttl: Duration,
    pub(crate) clock_drift_factor: f64,
    pub(crate) is_fenced: bool,
}

impl LeftClaim {
    pub(crate) fn new(claim: Arc<Claim>, lease: EndedLease) -> Self {
        Self {
            claim,
            lease,
            is_passed_on: false,
        }
    }

    /// True if `request`, which asks for a lock of `kind`, may take the claim over as it is: it would get the
    /// same from an acquisition, except for a tenth of the validity. The nodes' epochs are read before the
    /// clock, as after an attempt.
    pub(crate) fn suits(&self, request: &Request, kind: &dyn Kind, clock: &dyn Clock) -> bool {
        let lease = &self.lease;
        let is_alike = !request.fencing
            && !lease.is_fenced
            && kind.number() == self.claim.kind.number()
            && request.ttl == lease.ttl
            && request.clock_drift_factor.to_bits() == lease.clock_drift_factor.to_bits()
            // An extension may have let the keys live longer than the ttl.
            && self.claim.longest_ttl() == lease.ttl
            // The note is on the nodes, and would name the previous holder's work.
            && self.claim.token.has_note(request.note.as_ref());
        if !is_alike || !self.claim.is_vouched_for() {
            return false;
        }
        let whole = lease
            .ttl
            .saturating_sub(drift(lease.ttl, lease.clock_drift_factor));
        let left = lease.deadline.saturating_since(clock.now());
        left >= whole / 10 * 9 && left >= request.min_validity
    }

    /// The terms on which the claim goes to a holder who takes it over `now`.
    pub(crate) fn terms(&self, now: Moment) -> Terms {
        Terms {
            acquired_at: now,
            granted_at: now,
            deadline: self.lease.deadline,
            expiring: self.lease.expiring,
            fencing_token: None,
        }
    }

    /// The claim, for the next lease to hold.
    pub(crate) fn take_over(mut self) -> Arc<Claim> {
        self.is_passed_on = true;
        Arc::clone(&self.claim)
    }

    /// Releases the claim everywhere. `None` if the claim was released before.
    pub(crate) fn release(mut self) -> Option<Arc<Round>> {
        self.is_passed_on = true;
        self.claim.release()
    }
}

impl Drop for LeftClaim {
    fn drop(&mut self) {
        if !self.is_passed_on {
            self.claim.release();
        }
    }
}
