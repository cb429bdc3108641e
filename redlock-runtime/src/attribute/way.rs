//! The way of a call to its lock, under it and back. Nothing here is generic over the body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use redlock_core::lease::Released;

use super::call::Slot;
use super::run::PollBody;
use crate::acquire::{Acquisition, Prepared};
use crate::error::LockError;
use crate::lease::{Hold, Lease};
use crate::telemetry::HoldSpan;

/// A call whose parameters were checked.
pub(super) struct Way<'a> {
    step: Step,
    /// The span and the lease of a lock that was acquired. It is dropped after the step.
    under: Option<Under>,
    /// The place of the lease, unless it is `Under::own`.
    held: Option<&'a Slot>,
}

enum Step {
    Acquiring(Acquisition),
    Holding(Hold),
    Releasing {
        /// The release in progress; `None` if there is nothing to release.
        releasing: Option<Pin<Box<dyn Future<Output = Released> + Send>>>,
        /// The error of a lease that was lost.
        error: Option<LockError>,
    },
    /// The call was refused, unless its error was returned; or it has ended.
    Ended(Option<LockError>),
}

/// The span and the lease of a lock that was acquired. The lease is dropped last.
struct Under {
    span: HoldSpan,
    /// The lease, unless the body has it in the slot.
    own: Option<Lease>,
}

impl<'a> Way<'a> {
    /// Prepares the way to the lock. The lease will be in `held`, if there is such a place.
    pub(super) fn begin(prepared: Result<Prepared, LockError>, held: Option<&'a Slot>) -> Self {
        let step = match prepared {
            Ok(prepared) => Step::Acquiring(prepared.acquire()),
            Err(error) => Step::Ended(Some(error)),
        };
        let under = None;
        Self { step, under, held }
    }

    /// Acquires the lock, polls `body` under it, drops it, releases.
    ///
    /// # Errors
    /// If the lock was not acquired, or was lost under the body.
    pub(super) fn poll(
        &mut self,
        body: &mut dyn PollBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), LockError>> {
        ready!(self.poll_acquiring(body, context));
        ready!(self.poll_holding(body, context));
        let ended = ready!(self.poll_releasing(body, context));
        self.step = Step::Ended(None);
        self.under = None;
        Poll::Ready(ended)
    }

    /// Drops the body before its end, as a part of what runs under the lease.
    pub(super) fn cut_off(&self, body: &mut dyn PollBody) {
        let under = match self.step {
            Step::Holding(_) => self.under.as_ref(),
            _ => None,
        };
        let _entered = under.map(|under| under.span.span().enter());
        body.stop();
    }

    // Each step is a function of its own, so that the frames below the body are small.

    fn poll_acquiring(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let Step::Acquiring(acquiring) = &mut self.step else {
            return Poll::Ready(());
        };
        let lease = match ready!(acquiring.as_mut().poll(context)) {
            Ok(lease) => lease,
            Err(error) => {
                self.step = Step::Ended(Some(error));
                return Poll::Ready(());
            }
        };
        let under = self.under.insert(Under {
            span: lease.span(),
            own: None,
        });
        let hold = {
            let Under { span, own } = under;
            let _entered = span.span().enter();
            let lease = match self.held {
                Some(slot) => slot.fill(lease),
                None => own.insert(lease),
            };
            let hold = lease.begin_granted(span);
            if hold.is_err() {
                body.stop();
            }
            hold
        };
        self.step = match hold {
            Ok(hold) => Step::Holding(hold),
            Err(error) => under.release(self.held, Some(error)),
        };
        Poll::Ready(())
    }

    fn poll_holding(&mut self, body: &mut dyn PollBody, context: &mut Context<'_>) -> Poll<()> {
        let (Step::Holding(hold), Some(under)) = (&mut self.step, &self.under) else {
            return Poll::Ready(());
        };
        let ended = {
            let _entered = under.span.span().enter();
            let poll = &mut |context: &mut Context<'_>| body.poll(context);
            let lease = under.lease(self.held);
            let ended = ready!(lease.poll_hold(hold, &under.span, context, poll));
            if ended.is_ok() && body.has_succeeded() {
                lease.ended_well();
            }
            body.stop();
            ended
        };
        // What watched the lease is dropped before the release is sent.
        self.step = Step::Ended(None);
        self.step = under.release(self.held, ended.err());
        Poll::Ready(())
    }

    fn poll_releasing(
        &mut self,
        body: &mut dyn PollBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), LockError>> {
        let (releasing, error) = match &mut self.step {
            Step::Releasing { releasing, error } => (releasing, error),
            Step::Ended(error) => {
                body.stop();
                return Poll::Ready(Err(error.take().expect("polled to its end once")));
            }
            _ => unreachable!("the release is the last step"),
        };
        if let (Some(releasing), Some(under)) = (releasing, &self.under) {
            let _entered = under.span.span().enter();
            let released = ready!(releasing.as_mut().poll(context));
            under.lease(self.held).released(released);
        }
        Poll::Ready(error.take().map_or(Ok(()), Err))
    }
}

impl Under {
    fn lease<'a>(&'a self, held: Option<&'a Slot>) -> &'a Lease {
        match held {
            Some(slot) => slot.lease(),
            None => self.own.as_ref().expect("the lock was acquired"),
        }
    }

    /// Begins the release, if there is anything left to release.
    fn release(&self, held: Option<&Slot>, error: Option<LockError>) -> Step {
        let core = {
            let _entered = self.span.span().enter();
            self.lease(held).take_for_release()
        };
        Step::Releasing {
            releasing: core.map(|core| Box::pin(core.release()) as _),
            error,
        }
    }
}
