//! Hands a lock over to the next caller of the same process.
#![doc = include_str!("handover.md")]

use std::sync::Arc;
use std::time::Duration;

use crate::env::{Clock, Moment};
use crate::model::limits::validity_of;
use crate::quorum::claim::Claim;
use crate::quorum::fencing::TokenBlock;
use crate::quorum::lock_protocol::LockProtocol;
use crate::quorum::round::Round;
use crate::quorum::validity::Validity;
use crate::request::Request;

/// The claim of an ended lease, for the next caller in line. Dropping it sends the release.
pub(crate) struct HandedClaim {
    pub(crate) claim: Arc<Claim>,
    pub(crate) validity: Validity,
    /// The ttl and the drift factor of the lease's request.
    pub(crate) ttl: Duration,
    pub(crate) clock_drift_factor: f64,
    /// True if the claim has moved to the next lease, which releases it.
    pub(crate) is_taken_over: bool,
}

impl HandedClaim {
    /// True if `request`, whose lock has `protocol`, may take the claim over as it is. Both need the same permit, ttl,
    /// drift and note, and at least 9/10 of the validity left. Both are fenced, with a number left, or neither is. The epochs of the nodes are read before the
    /// clock, as in an attempt.
    pub(crate) fn suits(
        &self,
        request: &Request,
        protocol: &dyn LockProtocol,
        clock: &dyn Clock,
    ) -> bool {
        let is_alike = self.validity.tokens.is_some() == request.fencing
            && self.next_tokens().is_some() == request.fencing
            && protocol.permit() == self.claim.protocol.permit()
            && request.ttl == self.ttl
            && request.clock_drift_factor.to_bits() == self.clock_drift_factor.to_bits()
            // An extension may have given the keys more time than the ttl.
            && self.claim.longest_ttl() == self.ttl
            // The note on the nodes names the previous holder's work, so both notes must be equal.
            && self.claim.token.has_note(request.note.as_ref());
        if !is_alike || !self.claim.is_vouched_for() {
            return false;
        }
        let whole = validity_of(self.ttl, self.clock_drift_factor);
        let left = self.validity.deadline.saturating_since(clock.now());
        left >= whole / 10 * 9 && left >= request.min_validity
    }

    /// Returns the claim and the validity for a lease that takes the claim over `now`.
    pub(crate) fn take_over(mut self, now: Moment) -> (Arc<Claim>, Validity) {
        self.is_taken_over = true;
        let validity = Validity {
            attempt_began: now,
            granted_at: now,
            tokens: self.next_tokens(),
            ..self.validity
        };
        (Arc::clone(&self.claim), validity)
    }

    /// Returns the numbers for the lease that takes a fenced claim over, if there are any left.
    fn next_tokens(&self) -> Option<TokenBlock> {
        self.validity.tokens.and_then(TokenBlock::next)
    }

    /// Returns the least count of the fenced acquisition that replaces this claim.
    pub(crate) fn next_count(&self) -> u64 {
        self.validity.tokens.map_or(0, TokenBlock::next_count)
    }

    /// Releases the claim on every node. Returns `None` if the claim was released before.
    pub(crate) fn release(self) -> Option<Arc<Round>> {
        self.claim.release()
    }
}

impl Drop for HandedClaim {
    fn drop(&mut self) {
        if !self.is_taken_over {
            self.claim.release();
        }
    }
}
