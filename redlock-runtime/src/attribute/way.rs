//! The way of a call to its lock, under it and back. Nothing here is generic over the body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use redlock_core::lease::Released;

use super::call::Slot;
use super::run::PollBody;
use crate::acquire::Prepared;
use crate::error::LockError;
use crate::lease::{Hold, Lease};
use crate::telemetry::HoldSpan;

/// A call whose parameters were checked.
pub(super) enum Begun<'a> {
    /// `None` once the error was returned, or the call has ended.
    Refused(Option<LockError>),
    // Boxed: the acquisition is a large future, and would be a part of the user's future.
    Way(Pin<Box<dyn Steps + Send + 'a>>),
}

impl Begun<'_> {
    /// Acquires the lock, polls `body` under it, drops it, releases.
    ///
    /// # Errors
    /// If the lock was not acquired, or was lost under the body.
    pub(super) fn poll(
        &mut self,
        body: &mut dyn PollBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), LockError>> {
        match self {
            Self::Way(way) => {
                let ended = ready!(way.as_mut().poll(body, context));
                *self = Self::Refused(None);
                Poll::Ready(ended)
            }
            Self::Refused(error) => {
                body.stop();
                Poll::Ready(Err(error.take().expect("polled to its end once")))
            }
        }
    }

    /// Drops the body before its end, as a part of what runs under the lease.
    pub(super) fn cut_off(&self, body: &mut dyn PollBody) {
        match self {
            Self::Way(way) => way.cut_off(body),
            Self::Refused(_) => body.stop(),
        }
    }
}

/// A `Way` whose types are erased, because its futures have no names.
pub(super) trait Steps {
    fn poll(
        self: Pin<&mut Self>,
        body: &mut dyn PollBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), LockError>>;

    fn cut_off(&self, body: &mut dyn PollBody);
}

/// Prepares the way to the lock. The lease will be in `held`, if there is such a place.
pub(super) fn way<'a>(
    mut prepared: Prepared,
    held: Option<&'a Slot>,
) -> Pin<Box<dyn Steps + Send + 'a>> {
    // A block, because an async function would store `prepared` twice.
    let acquiring = async move { prepared.acquire().await };
    Box::pin(Way {
        step: Step::Acquiring { acquiring },
        held,
        begin_release: redlock_core::Lease::release,
    })
}

pin_project! {
    // `begin_release` is a function without captures: it takes no space.
    struct Way<'a, A, R, E> {
        #[pin]
        step: Step<A, R>,
        // The place of the lease, unless it is `Under::own`.
        held: Option<&'a Slot>,
        begin_release: E,
    }
}

pin_project! {
    #[project = StepProjection]
    enum Step<A, R> {
        Acquiring {
            #[pin]
            acquiring: A,
        },
        // One variant for the body and the release, so that the lease is not moved between them.
        Locked {
            #[pin]
            phase: Phase<R>,
            under: Under,
        },
    }
}

pin_project! {
    #[project = PhaseProjection]
    enum Phase<R> {
        Holding {
            hold: Hold,
        },
        Releasing {
            // The release in progress; `None` if there is nothing to release.
            #[pin]
            releasing: Option<R>,
            // The error of a lease that was lost.
            error: Option<LockError>,
        },
        // Between the two.
        Neither,
    }
}

/// The span and the lease of a lock that was acquired. The lease is dropped last.
struct Under {
    span: HoldSpan,
    /// The lease, unless the body has it in the slot. Not in a slot of its own: filling one takes time.
    own: Option<Lease>,
}

impl<A, R, E> Steps for Way<'_, A, R, E>
where
    E: Fn(redlock_core::Lease) -> R,
    A: Future<Output = Result<Lease, LockError>>,
    R: Future<Output = Released>,
{
    fn poll(
        mut self: Pin<&mut Self>,
        body: &mut dyn PollBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), LockError>> {
        ready!(self.as_mut().poll_acquiring(body, context))?;
        ready!(self.as_mut().poll_holding(body, context));
        self.poll_releasing(context)
    }

    fn cut_off(&self, body: &mut dyn PollBody) {
        let _entered = match &self.step {
            Step::Locked {
                phase: Phase::Holding { .. },
                under,
            } => Some(under.span.span().enter()),
            _ => None,
        };
        body.stop();
    }
}

// Each step is a function of its own, so that the frames below the body are small.
impl<A, R, E> Way<'_, A, R, E>
where
    E: Fn(redlock_core::Lease) -> R,
    A: Future<Output = Result<Lease, LockError>>,
    R: Future<Output = Released>,
{
    fn poll_acquiring(
        self: Pin<&mut Self>,
        body: &mut dyn PollBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), LockError>> {
        let mut this = self.project();
        let StepProjection::Acquiring { acquiring } = this.step.as_mut().project() else {
            return Poll::Ready(Ok(()));
        };
        let lease = match ready!(acquiring.poll(context)) {
            Ok(lease) => lease,
            Err(error) => {
                body.stop();
                return Poll::Ready(Err(error));
            }
        };
        let mut under = Under {
            span: lease.span(),
            own: None,
        };
        let hold = {
            let Under { span, own } = &mut under;
            let _entered = span.span().enter();
            let lease = match *this.held {
                Some(slot) => slot.fill(lease),
                None => own.insert(lease),
            };
            let hold = lease.begin_granted(span);
            if hold.is_err() {
                body.stop();
            }
            hold
        };
        let phase = match hold {
            Ok(hold) => Phase::Holding { hold },
            Err(error) => under.release(*this.held, &*this.begin_release, Some(error)),
        };
        this.step.set(Step::Locked { phase, under });
        Poll::Ready(Ok(()))
    }

    fn poll_holding(
        self: Pin<&mut Self>,
        body: &mut dyn PollBody,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let this = self.project();
        let StepProjection::Locked { mut phase, under } = this.step.project() else {
            return Poll::Ready(());
        };
        if let PhaseProjection::Holding { hold } = phase.as_mut().project() {
            let ended = {
                let _entered = under.span.span().enter();
                let poll = &mut |context: &mut Context<'_>| body.poll(context);
                let lease = under.lease(*this.held);
                let ended = ready!(lease.poll_hold(hold, &under.span, context, poll));
                if ended.is_ok() && body.has_succeeded() {
                    lease.ended_well();
                }
                body.stop();
                ended
            };
            // What watched the lease is dropped before the release is sent.
            phase.set(Phase::Neither);
            phase.set(under.release(*this.held, &*this.begin_release, ended.err()));
        }
        Poll::Ready(())
    }

    fn poll_releasing(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), LockError>> {
        let this = self.project();
        let StepProjection::Locked { phase, under } = this.step.project() else {
            unreachable!("the lock was acquired");
        };
        let PhaseProjection::Releasing { releasing, error } = phase.project() else {
            unreachable!("the release is the last step");
        };
        if let Some(releasing) = releasing.as_pin_mut() {
            let _entered = under.span.span().enter();
            let released = ready!(releasing.poll(context));
            under.lease(*this.held).released(released);
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
    fn release<R>(
        &self,
        held: Option<&Slot>,
        release: impl Fn(redlock_core::Lease) -> R,
        error: Option<LockError>,
    ) -> Phase<R> {
        let core = {
            let _entered = self.span.span().enter();
            self.lease(held).take_for_release()
        };
        Phase::Releasing {
            releasing: core.map(release),
            error,
        }
    }
}
