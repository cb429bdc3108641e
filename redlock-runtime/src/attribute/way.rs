//! The way of a call to its lock, under it and back. Nothing here is generic over the body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use redlock_core::lease::Released;

use super::ask::asked;
use super::call::{Call, Slot};
use super::run::PollBody;
use crate::acquire::Acquisition;
use crate::lease::{Hold, Lease};

/// The state of one call.
#[must_use]
pub struct Way<'a> {
    step: Step,
    /// The lease, unless the body has it in `held`. It is dropped after the step.
    own: Option<Lease>,
    held: Option<&'a Slot>,
}

enum Step {
    /// The body evaluates its request.
    Asking,
    Acquiring(Acquisition),
    Holding(Hold),
    /// The release in progress; `None` if there is nothing to release.
    Releasing(Option<Pin<Box<dyn Future<Output = Released> + Send>>>),
}

impl<'a> Way<'a> {
    /// The way of a body that asks for the lock itself. If it returns before, no lock is taken.
    pub const ASKING: Self = Self::at(Step::Asking);

    /// The same for a body that uses the lease. The body finds the lease in `held`, which belongs to the caller and is
    /// dropped after the body.
    pub fn with(mut self, held: &'a Slot) -> Self {
        self.held = Some(held);
        self
    }

    /// The way of a body whose call is known.
    pub fn of(call: Call) -> Self {
        Self::at(Step::Acquiring(call.acquire()))
    }

    const fn at(step: Step) -> Self {
        let (own, held) = (None, None);
        Self { step, own, held }
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
        let is_held = matches!(self.step, Step::Holding(_));
        let lease = is_held.then(|| lease_in(self.own.as_ref(), self.held));
        let _entered = lease.map(|lease| lease.span().enter());
        body.stop(None);
    }

    // Each step is a function of its own, so that the frames below the body are small.

    fn poll_asking(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let Step::Asking = &self.step else {
            return Poll::Ready(());
        };
        let has_ended = body.poll(context).is_ready();
        self.step = match asked() {
            Some(request) => Step::Acquiring(request),
            // An expression of the attribute has returned from the function.
            None if has_ended => Step::Releasing(None),
            None => return Poll::Pending,
        };
        Poll::Ready(())
    }

    fn poll_acquiring(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let Step::Acquiring(acquiring) = &mut self.step else {
            return Poll::Ready(());
        };
        self.step = match ready!(acquiring.as_mut().poll(context)) {
            Ok(lease) => {
                let lease = match self.held {
                    Some(held) => held.fill(lease),
                    None => self.own.insert(lease),
                };
                let _entered = lease.span().enter();
                match Hold::begin(lease) {
                    Ok(hold) => Step::Holding(hold),
                    Err(error) => {
                        body.stop(Some(error));
                        release(lease)
                    }
                }
            }
            Err(error) => {
                body.stop(Some(error));
                Step::Releasing(None)
            }
        };
        Poll::Ready(())
    }

    fn poll_holding(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let Step::Holding(hold) = &mut self.step else {
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
            lease.ended_well();
        }
        body.stop(ended.err());
        // What watched the lease is dropped before the release is sent.
        self.step = Step::Releasing(None);
        self.step = release(lease);
        Poll::Ready(())
    }

    fn poll_releasing(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Step::Releasing(Some(releasing)) = &mut self.step {
            let lease = lease_in(self.own.as_ref(), self.held);
            let _entered = lease.span().enter();
            lease.released(ready!(releasing.as_mut().poll(context)));
        }
        Poll::Ready(())
    }
}

/// The lease of a call that has its lock.
fn lease_in<'a>(own: Option<&'a Lease>, held: Option<&'a Slot>) -> &'a Lease {
    own.unwrap_or_else(|| held.map_or_else(|| unreachable!("the lock is held"), Slot::lease))
}

/// Begins the release, if there is anything left to release.
fn release(lease: &Lease) -> Step {
    let core = lease.take_for_release();
    Step::Releasing(core.map(|core| Box::pin(core.release()) as _))
}
