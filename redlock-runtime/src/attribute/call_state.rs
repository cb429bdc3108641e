//! The way of a call to its lock, under it and back. Nothing here is generic over the body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use redlock_core::lease::Released;

use super::call::{Call, LeaseSlot};
use super::call_future::PollBody;
use super::request::take_request;
use crate::acquire::AcquireFuture;
use crate::lease::{BodyUnderLease, Lease};

/// The state of one call.
#[must_use]
pub struct CallState<'a> {
    phase: CallPhase,
    /// The lease, unless the body has it in `held`. It is dropped after the step.
    own: Option<Lease>,
    held: Option<&'a LeaseSlot>,
}

enum CallPhase {
    /// The body evaluates its request.
    Asking,
    Acquiring(AcquireFuture),
    Holding(BodyUnderLease),
    /// The release in progress; `None` if there is nothing to release.
    Releasing(Option<Pin<Box<dyn Future<Output = Released> + Send>>>),
}

impl<'a> CallState<'a> {
    /// The way of a body that asks for the lock itself. If it returns before, no lock is taken.
    pub const ASKING: Self = Self::at(CallPhase::Asking);

    /// The same for a body that uses the lease. The body finds the lease in `held`, which belongs to the caller and is
    /// dropped after the body.
    pub fn with(mut self, held: &'a LeaseSlot) -> Self {
        self.held = Some(held);
        self
    }

    /// The way of a body whose call is known.
    pub fn of(call: Call) -> Self {
        Self::at(CallPhase::Acquiring(call.acquire()))
    }

    const fn at(phase: CallPhase) -> Self {
        let (own, held) = (None, None);
        Self { phase, own, held }
    }

    /// Takes the body's request, acquires the lock, polls `body` under it, drops it, releases.
    ///
    /// If the lock was not acquired, or was lost under the body, the body is stopped with the error.
    pub(super) fn poll(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_asking(body, context));
        ready!(self.poll_acquiring(body, context));
        ready!(self.poll_holding(body, context));
        ready!(self.poll_releasing(context));
        self.own = None;
        Poll::Ready(())
    }

    /// Drops the body before its end, as a part of what runs under the lease.
    pub(super) fn cut_off(&self, body: &mut dyn PollBody) {
        let is_held = matches!(self.phase, CallPhase::Holding(_));
        let lease = is_held.then(|| lease_in(self.own.as_ref(), self.held));
        let _entered = lease.map(|lease| lease.span().enter());
        body.stop(None);
    }

    // Each step is a function of its own, so that the frames below the body are small.

    fn poll_asking(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let CallPhase::Asking = &self.phase else {
            return Poll::Ready(());
        };
        let has_ended = body.poll(context).is_ready();
        self.phase = match take_request() {
            Some(request) => CallPhase::Acquiring(request),
            // An expression of the attribute has returned from the function.
            None if has_ended => CallPhase::Releasing(None),
            None => return Poll::Pending,
        };
        Poll::Ready(())
    }

    fn poll_acquiring(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let CallPhase::Acquiring(acquiring) = &mut self.phase else {
            return Poll::Ready(());
        };
        self.phase = match ready!(acquiring.as_mut().poll(context)) {
            Ok(lease) => {
                let lease = match self.held {
                    Some(held) => held.fill(lease),
                    None => self.own.insert(lease),
                };
                let _entered = lease.span().enter();
                match BodyUnderLease::begin(lease) {
                    Ok(hold) => CallPhase::Holding(hold),
                    Err(error) => {
                        body.stop(Some(error));
                        release(lease)
                    }
                }
            }
            Err(error) => {
                body.stop(Some(error));
                CallPhase::Releasing(None)
            }
        };
        Poll::Ready(())
    }

    fn poll_holding(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let CallPhase::Holding(hold) = &mut self.phase else {
            return Poll::Ready(());
        };
        let lease = lease_in(self.own.as_ref(), self.held);
        let _entered = lease.span().enter();
        let mut has_succeeded = false;
        let poll = &mut |context: &mut Context<'_>| {
            let ended = body.poll(context);
            ended.map(|it| has_succeeded = it)
        };
        let ended = ready!(hold.poll(lease, context, poll));
        if ended.is_ok() && has_succeeded {
            lease.mark_success();
        }
        body.stop(ended.err());
        // What watched the lease is dropped before the release is sent.
        self.phase = CallPhase::Releasing(None);
        self.phase = release(lease);
        Poll::Ready(())
    }

    fn poll_releasing(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let CallPhase::Releasing(Some(releasing)) = &mut self.phase {
            let lease = lease_in(self.own.as_ref(), self.held);
            let _entered = lease.span().enter();
            lease.report_release(ready!(releasing.as_mut().poll(context)));
        }
        Poll::Ready(())
    }
}

/// The lease of a call that has its lock.
fn lease_in<'a>(own: Option<&'a Lease>, held: Option<&'a LeaseSlot>) -> &'a Lease {
    own.unwrap_or_else(|| held.map_or_else(|| unreachable!("the lock is held"), LeaseSlot::lease))
}

/// Begins the release, if there is anything left to release.
fn release(lease: &Lease) -> CallPhase {
    let core = lease.take_for_release();
    CallPhase::Releasing(core.map(|core| Box::pin(core.release()) as _))
}
