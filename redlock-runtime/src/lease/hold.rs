//! A body under a lease. Nothing here is generic over the body, which is instantiated by every crate that
//! locks: the caller keeps the body, and lends a way to poll it for each poll.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use redlock_core::lease::{BodyOutcome, OnLost};

use super::chain::Below;
use super::{Lease, LeaseEnd};
use crate::error::LockError;
use crate::telemetry::{HoldSpan, about, name_of};

/// Polls the body and keeps its output.
type PollBody<'a> = &'a mut dyn FnMut(&mut Context<'_>) -> Poll<()>;

pin_project! {
    /// A body under its lease.
    pub(crate) struct Hold<S> {
        below: Below,
        // Completes when the body has to stop.
        #[pin]
        stopped: S,
    }
}

impl Lease {
    /// The span of a body under the lease.
    pub(crate) fn span(&self) -> HoldSpan {
        HoldSpan::begin(self.site(), &self.core.handle.core)
    }

    /// What the future of [`begin_hold`](Self::begin_hold) needs.
    pub(crate) fn watched(&self) -> (redlock_core::LeaseHandle, OnLost) {
        (self.core.handle.core.clone(), self.on_lost)
    }

    /// Polls `body` while the lease is valid, inside of the caller's span.
    pub(crate) async fn hold<B: Future>(
        &self,
        mut body: Pin<&mut B>,
        span: &HoldSpan,
    ) -> Result<B::Output, LockError> {
        let mut output = None;
        let mut hold = pin!(self.begin_hold(span, self.core.handle.core.stopped(self.on_lost))?);
        poll_fn(|context| {
            self.poll_hold(hold.as_mut(), span, context, &mut |context| {
                body.as_mut()
                    .poll(context)
                    .map(|value| output = Some(value))
            })
        })
        .await?;
        Ok(output.expect("the body has returned"))
    }

    /// Begins to hold the lease for a body. `stopped` is the future of the core lease's method of that
    /// name.
    ///
    /// # Errors
    /// [`Lost`](crate::error::LockErrorKind::Lost) if a shutdown is about to release the lease.
    pub(crate) fn begin_hold<S>(&self, span: &HoldSpan, stopped: S) -> Result<Hold<S>, LockError> {
        if !self.place.set_has_body() {
            let over = LeaseEnd::Revoked;
            span.ended(
                &self.core.handle.core,
                &BodyOutcome::Cancelled(over.clone()),
            );
            return Err(self.core.handle.lost_error(over));
        }
        let below = Below::new(self.handle());
        Ok(Hold { below, stopped })
    }

    /// Polls the body of `hold`, inside of the caller's span. No body begins without its lock, whatever
    /// `on_lost` says: before the first poll, the lease has to be valid.
    pub(crate) fn poll_hold<S: Future<Output = LeaseEnd>>(
        &self,
        hold: Pin<&mut Hold<S>>,
        span: &HoldSpan,
        context: &mut Context<'_>,
        body: PollBody<'_>,
    ) -> Poll<Result<(), LockError>> {
        let hold = hold.project();
        let on_lost = if self.core.is_in_body.load(Ordering::Relaxed) {
            self.on_lost
        } else {
            OnLost::Cancel
        };
        let poll = |context: &mut Context<'_>| {
            // At the first poll, and not before: if the lease is over by then, no body has begun.
            self.core.is_in_body.store(true, Ordering::Relaxed);
            self.core.is_done_in_time.store(false, Ordering::Relaxed);
            let _entered = hold.below.enter();
            body(context)
        };
        let (core, stopped) = (&self.core.handle.core, hold.stopped);
        let ended = ready!(core.poll_body(on_lost, stopped, context, poll));
        Poll::Ready(self.end_hold(span, &ended))
    }

    fn end_hold(&self, span: &HoldSpan, outcome: &BodyOutcome<()>) -> Result<(), LockError> {
        span.ended(&self.core.handle.core, outcome);
        match outcome {
            BodyOutcome::Done(()) => {
                self.core.is_in_body.store(false, Ordering::Relaxed);
                self.core.is_done_in_time.store(true, Ordering::Relaxed);
                Ok(())
            }
            BodyOutcome::Late((), over) => {
                self.core.is_in_body.store(false, Ordering::Relaxed);
                log_throttled!(
                    Some(&self.limits.throttles),
                    about(self.site()).reason(over.as_str()),
                    warn,
                    "late: the body ended after its lease did",
                    site = name_of(self.site()),
                    resource = %self.resource(), token = self.token_id(), reason = %over
                );
                Ok(())
            }
            BodyOutcome::Cancelled(over) => {
                log_throttled!(
                    Some(&self.limits.throttles),
                    about(self.site()).reason(over.as_str()),
                    warn,
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
