//! A body under a lease. Nothing here is generic over the body, which is instantiated by every crate that
//! locks: the caller keeps the body, and lends a way to poll it for each poll.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use redlock_core::env::log_throttled;
use redlock_core::lease::{BodyOutcome, BodyWatch};

use super::chain::Below;
use super::{Lease, LeaseEnd};
use crate::error::LockError;
use crate::telemetry::{HoldSpan, name_of};

/// Polls the body and keeps its output.
type PollBody<'a> = &'a mut dyn FnMut(&mut Context<'_>) -> Poll<()>;

/// A body under its lease.
pub(crate) struct Hold {
    below: Below,
    watch: BodyWatch,
}

impl Lease {
    /// The span of a body under the lease.
    pub(crate) fn span(&self) -> HoldSpan {
        HoldSpan::begin(self.site(), &self.core.handle.core)
    }

    /// Polls `body` while the lease is valid, inside of the caller's span.
    pub(crate) async fn hold<B: Future>(
        &self,
        mut body: Pin<&mut B>,
        span: &HoldSpan,
    ) -> Result<B::Output, LockError> {
        let mut output = None;
        let mut hold = self.begin_hold(span, BodyWatch::new(self.on_lost))?;
        poll_fn(|context| {
            let poll = &mut |context: &mut Context<'_>| {
                body.as_mut()
                    .poll(context)
                    .map(|value| output = Some(value))
            };
            self.poll_hold(&mut hold, span, context, poll)
        })
        .await?;
        Ok(output.expect("the body has returned"))
    }

    /// Begins to hold the lease for a body that is polled at once: the lock was granted in this poll.
    ///
    /// # Errors
    /// As for [`begin_hold`](Self::begin_hold).
    pub(crate) fn begin_granted(&self, span: &HoldSpan) -> Result<Hold, LockError> {
        self.begin_hold(span, BodyWatch::of_granted(self.on_lost))
    }

    /// Begins to hold the lease for a body.
    ///
    /// # Errors
    /// [`Lost`](crate::error::LockErrorKind::Lost) if a shutdown is about to release the lease.
    fn begin_hold(&self, span: &HoldSpan, watch: BodyWatch) -> Result<Hold, LockError> {
        if !self.place.set_has_body() {
            let over = LeaseEnd::Revoked;
            span.ended(
                &self.core.handle.core,
                &BodyOutcome::Cancelled(over.clone()),
            );
            return Err(self.core.handle.lost_error(over));
        }
        Ok(Hold {
            below: Below::new(self.handle()),
            watch,
        })
    }

    /// Polls the body of `hold`, inside of the caller's span.
    pub(crate) fn poll_hold(
        &self,
        hold: &mut Hold,
        span: &HoldSpan,
        context: &mut Context<'_>,
        body: PollBody<'_>,
    ) -> Poll<Result<(), LockError>> {
        let Hold { below, watch } = hold;
        let poll = |context: &mut Context<'_>| {
            // At the first poll, and not before: if the lease is over by then, no body has begun.
            self.core.has_begun.store(true, Ordering::Relaxed);
            self.core.is_in_body.store(true, Ordering::Relaxed);
            let _entered = below.enter();
            body(context)
        };
        let core = &self.core.handle.core;
        let ended = ready!(core.poll_body(watch, context, poll));
        Poll::Ready(self.end_hold(span, &ended))
    }

    fn end_hold(&self, span: &HoldSpan, outcome: &BodyOutcome<()>) -> Result<(), LockError> {
        span.ended(&self.core.handle.core, outcome);
        match outcome {
            BodyOutcome::Done(()) => {
                self.core.is_in_body.store(false, Ordering::Relaxed);
                Ok(())
            }
            BodyOutcome::Late((), over) => {
                self.core.is_in_body.store(false, Ordering::Relaxed);
                log_throttled!(
                    &*self.limits.throttle,
                    (self.site().site_name(), over.as_str()),
                    WARN,
                    "late: the body ended after its lease did",
                    site = name_of(self.site()),
                    resource = %self.resource(), token = self.token_id(), reason = %over
                );
                Ok(())
            }
            BodyOutcome::Cancelled(over) => {
                log_throttled!(
                    &*self.limits.throttle,
                    (self.site().site_name(), over.as_str()),
                    WARN,
                    "lost: the body was cancelled",
                    site = name_of(self.site()),
                    resource = %self.resource(), token = self.token_id(), reason = %over
                );
                Err(self.core.handle.lost_error(over.clone()))
            }
            _ => Err(self.core.handle.lost_error(LeaseEnd::Expired)),
        }
    }
}
