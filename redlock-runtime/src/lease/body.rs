//! Polls a body under a lease. This code is compiled once, because it is not generic over the body: the caller keeps
//! the body, and passes a function that polls it.

use std::task::{Context, Poll, ready};

use redlock_core::internal::{BodyWatch, log_throttled};
use redlock_core::lease::BodyOutcome;
use redlock_core::targets;

use super::chain::CallChain;
use super::{Lease, LeaseEnd, RunStage};
use crate::error::LockError;

/// Watches the lease of a body, and keeps the place of the body in the call chain.
pub(crate) struct BodyUnderLease {
    chain: CallChain,
    watch: BodyWatch,
}

impl BodyUnderLease {
    /// Marks the lease as one with a body, and starts to watch it.
    ///
    /// # Errors
    /// Returns [`Lost`](crate::error::LockErrorKind::Lost) if a shutdown is about to release the lease.
    pub(crate) fn begin(lease: &Lease) -> Result<Self, LockError> {
        if !lease.place.set_has_body() {
            let over = LeaseEnd::Revoked;
            let outcome = BodyOutcome::Cancelled(over.clone());
            lease.holding.record_body_end(&lease.handle.core, &outcome);
            return Err(lease.lost_error(over));
        }
        Ok(Self {
            chain: CallChain::new(lease.handle()),
            watch: BodyWatch::new(lease.handle.core.clone(), lease.policy.on_lost),
        })
    }

    /// Polls the body inside the span of the lease.
    pub(crate) fn poll(
        &mut self,
        lease: &Lease,
        context: &mut Context<'_>,
        body: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Poll<Result<(), LockError>> {
        let Self { chain, watch } = self;
        let poll = |context: &mut Context<'_>| {
            // Set the stage only at the first poll. If the lease ends earlier, no body has run under it.
            lease.set_stage(RunStage::InBody);
            let _entered = chain.enter();
            body(context)
        };
        let outcome = ready!(watch.poll(context, poll));
        lease.holding.record_body_end(&lease.handle.core, &outcome);
        let (has_returned, over) = match outcome {
            BodyOutcome::Done(()) => (true, None),
            BodyOutcome::Late((), over) => (true, Some(over)),
            BodyOutcome::Cancelled(over) => (false, Some(over)),
        };
        if has_returned {
            lease.set_stage(RunStage::Returned);
        }
        let Some(over) = over else {
            return Poll::Ready(Ok(()));
        };
        log_throttled!(
            target: targets::LEASE, &lease.context.throttle,
            (lease.site().name(), over.as_str()),
            WARN,
            "lost: the lock ended before its body",
            site = %lease.site().name(),
            resource = %lease.resource(), token = lease.token_id(), reason = %over,
            body = if has_returned { "ended late" } else { "was cancelled" }
        );
        Poll::Ready(if has_returned {
            Ok(())
        } else {
            Err(lease.lost_error(over))
        })
    }
}
