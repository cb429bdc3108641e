//! The way of a call to its lock, under it and back. Nothing here is generic over the body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use redlock_core::lease::Released;

use super::call::Slot;
use super::run::PollBody;
use crate::acquire::Acquisition;
use crate::error::LockError;
use crate::lease::{Hold, Lease};

/// A call whose parameters were checked.
pub(super) struct Way<'a> {
    step: Step,
    /// The lease, unless the body has it in `held`. It is dropped after the step.
    own: Option<Lease>,
    held: Option<&'a Slot>,
}

enum Step {
    Acquiring(Acquisition),
    Holding(Hold),
    Releasing {
        /// The release in progress; `None` if there is nothing to release.
        releasing: Option<Pin<Box<dyn Future<Output = Released> + Send>>>,
        /// The error of a call that was refused, or of a lease that was lost.
        error: Option<LockError>,
    },
}

impl<'a> Way<'a> {
    /// Begins the way to the lock. The lease will be in `held`, if there is such a place.
    pub(super) fn begin(acquiring: Acquisition, held: Option<&'a Slot>) -> Self {
        Self {
            step: Step::Acquiring(acquiring),
            own: None,
            held,
        }
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
        let ended = ready!(self.poll_releasing(context));
        self.own = None;
        Poll::Ready(ended)
    }

    /// Drops the body before its end, as a part of what runs under the lease.
    pub(super) fn cut_off(&self, body: &mut dyn PollBody) {
        let is_held = matches!(self.step, Step::Holding(_));
        let lease = is_held.then(|| lease_in(self.own.as_ref(), self.held));
        let _entered = lease.map(|lease| lease.span().enter());
        body.stop();
    }

    // Each step is a function of its own, so that the frames below the body are small.

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
                        body.stop();
                        release(lease, Some(error))
                    }
                }
            }
            Err(error) => {
                body.stop();
                Step::Releasing {
                    releasing: None,
                    error: Some(error),
                }
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
        body.stop();
        // What watched the lease is dropped before the release is sent.
        self.step = Step::Releasing {
            releasing: None,
            error: None,
        };
        self.step = release(lease, ended.err());
        Poll::Ready(())
    }

    fn poll_releasing(&mut self, context: &mut Context<'_>) -> Poll<Result<(), LockError>> {
        let Step::Releasing { releasing, error } = &mut self.step else {
            unreachable!("the release is the last step")
        };
        if let Some(releasing) = releasing {
            let lease = lease_in(self.own.as_ref(), self.held);
            let _entered = lease.span().enter();
            lease.released(ready!(releasing.as_mut().poll(context)));
        }
        let error = error.take();
        Poll::Ready(error.map_or(Ok(()), Err))
    }
}

/// The lease of a call that has its lock.
fn lease_in<'a>(own: Option<&'a Lease>, held: Option<&'a Slot>) -> &'a Lease {
    own.unwrap_or_else(|| held.map_or_else(|| unreachable!("the lock is held"), Slot::lease))
}

/// Begins the release, if there is anything left to release. `error` is that of a lease that was lost.
fn release(lease: &Lease, error: Option<LockError>) -> Step {
    let core = lease.take_for_release();
    Step::Releasing {
        releasing: core.map(|core| Box::pin(core.release()) as _),
        error,
    }
}
