//! The state machine of one call. This code is compiled once, because it is not generic over the body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use redlock_core::lease::Released;

use super::lease_slot::LeaseSlot;
use super::request::{AcquireFuture, take_request};
use crate::error::LockError;
use crate::lease::{BodyUnderLease, Lease};

/// The state of one call: its phase and its lease.
#[must_use]
pub struct CallState<'a> {
    // Declared first, so that the watch of the lease is dropped before the lease.
    phase: CallPhase,
    lease: KeptLease<'a>,
}

enum CallPhase {
    /// The body evaluates its request.
    Requesting,
    Acquiring(AcquireFuture),
    /// The lease is acquired, and the body begins next.
    Acquired,
    /// The body runs. `BodyUnderLease`, in `lease/body.rs` of this crate, wraps the `BodyWatch` of core.
    UnderLease(BodyUnderLease),
    /// The release is in progress. `None` if nothing is left to release.
    Releasing(Option<Pin<Box<dyn Future<Output = Released> + Send>>>),
}

/// The lease of a call, in the call's own slot or in a slot that the body sees.
struct KeptLease<'a> {
    own: LeaseSlot,
    /// The slot of a body that uses the lease. The caller owns this slot, and drops it after the body.
    given: Option<&'a LeaseSlot>,
}

/// A body, as the state machine sees it. The trait object is made for each poll and lives no longer, because a future
/// that stored it would have to decide whether every body is `Send`.
pub(super) trait PollBody {
    /// Polls the body. When the body returns, its output is kept and the body is dropped. The value is true if the
    /// output counts as success.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<bool>;

    /// Drops the body, unless it has returned. An error becomes the output of the call.
    fn stop(&mut self, error: Option<LockError>);
}

impl<'a> CallState<'a> {
    /// Creates the state of a call whose body requests the lock itself. If the body returns before that, no lock is
    /// taken.
    pub const fn requesting() -> Self {
        Self::at(CallPhase::Requesting, LeaseSlot::new())
    }

    /// Creates the state of a call that begins with an acquisition.
    pub(crate) fn acquiring(acquisition: AcquireFuture) -> Self {
        Self::at(CallPhase::Acquiring(acquisition), LeaseSlot::new())
    }

    /// Creates the state of a call that has its lease already.
    pub(super) fn acquired(lease: Lease) -> Self {
        Self::at(CallPhase::Acquired, LeaseSlot::of(lease))
    }

    const fn at(phase: CallPhase, own: LeaseSlot) -> Self {
        let lease = KeptLease { own, given: None };
        Self { phase, lease }
    }

    /// Keeps the lease in `slot`, where the body finds it.
    pub fn with_slot(mut self, slot: &'a LeaseSlot) -> Self {
        self.lease.given = Some(slot);
        self
    }

    /// Takes the body's request, acquires the lock, polls `body` under it, drops the body and releases.
    ///
    /// If the lock was refused, or was lost under the body, the body is stopped with the error.
    pub(super) fn poll(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_request(body, context));
        ready!(self.poll_acquisition(body, context));
        self.begin_body(body);
        ready!(self.poll_body(body, context));
        ready!(self.poll_release(context));
        // Remove the lease from the held table before the caller continues. With `guard`, the slot removes it later.
        self.lease.own = LeaseSlot::new();
        Poll::Ready(())
    }

    /// Drops the body before its end, inside the span of the lease.
    pub(super) fn cut_off(&self, body: &mut dyn PollBody) {
        let is_held = matches!(self.phase, CallPhase::UnderLease(_));
        let lease = is_held.then(|| self.lease.get());
        let _entered = lease.map(|lease| lease.span().enter());
        body.stop(None);
    }

    // One function for each phase keeps the stack frames below the body small.

    fn poll_request(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let CallPhase::Requesting = &self.phase else {
            return Poll::Ready(());
        };
        let has_ended = body.poll(context).is_ready();
        self.phase = match take_request() {
            Some(acquisition) => CallPhase::Acquiring(acquisition),
            // The body ended without a request: an expression of the attribute has returned from the function.
            None if has_ended => CallPhase::Releasing(None),
            None => return Poll::Pending,
        };
        Poll::Ready(())
    }

    fn poll_acquisition(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let CallPhase::Acquiring(acquisition) = &mut self.phase else {
            return Poll::Ready(());
        };
        self.phase = match ready!(acquisition.as_mut().poll(context)) {
            Ok(lease) => {
                self.lease.given.unwrap_or(&self.lease.own).fill(lease);
                CallPhase::Acquired
            }
            Err(error) => {
                body.stop(Some(error));
                CallPhase::Releasing(None)
            }
        };
        Poll::Ready(())
    }

    fn begin_body(&mut self, body: &mut dyn PollBody) {
        let CallPhase::Acquired = &self.phase else {
            return;
        };
        let lease = self.lease.get();
        let _entered = lease.span().enter();
        self.phase = match BodyUnderLease::begin(lease) {
            Ok(under_lease) => CallPhase::UnderLease(under_lease),
            Err(error) => {
                body.stop(Some(error));
                begin_release(lease)
            }
        };
    }

    fn poll_body(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let CallPhase::UnderLease(under_lease) = &mut self.phase else {
            return Poll::Ready(());
        };
        let lease = self.lease.get();
        let _entered = lease.span().enter();
        let mut has_succeeded = false;
        let poll = &mut |context: &mut Context<'_>| {
            let ended = body.poll(context);
            ended.map(|it| has_succeeded = it)
        };
        let ended = ready!(under_lease.poll(lease, context, poll));
        if ended.is_ok() && has_succeeded {
            lease.mark_success();
        }
        body.stop(ended.err());
        // Drop the watch of the lease before the release is sent.
        self.phase = CallPhase::Releasing(None);
        self.phase = begin_release(lease);
        Poll::Ready(())
    }

    fn poll_release(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let CallPhase::Releasing(Some(release)) = &mut self.phase {
            let lease = self.lease.get();
            let _entered = lease.span().enter();
            lease.report_release(ready!(release.as_mut().poll(context)));
        }
        Poll::Ready(())
    }
}

/// Begins the release, if there is anything to release. The first poll of the release sends it.
fn begin_release(lease: &Lease) -> CallPhase {
    let core = lease.take_for_release();
    CallPhase::Releasing(core.map(|core| Box::pin(core.release()) as _))
}

impl KeptLease<'_> {
    fn get(&self) -> &Lease {
        self.given.unwrap_or(&self.own).lease()
    }
}
