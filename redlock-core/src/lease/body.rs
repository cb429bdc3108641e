//! Running a body under a lease.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use crate::env::Moment;
use crate::error::LeaseEnd;

use super::{LeaseHandle, LeaseState};

/// What happens to a body when its lease is lost or its validity ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLost {
    /// The body is not polled any longer, and the call ends with the loss.
    #[default]
    Cancel,
    /// The body continues without the lock.
    Continue,
}

/// The outcome of a body.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyOutcome<T> {
    /// The body returned while the lease was valid.
    Done(T),
    /// The body returned in a poll that ran past the end of the lease.
    Late(T, LeaseEnd),
    /// The body was cancelled: it was not polled after the end of the lease.
    Cancelled(LeaseEnd),
}

impl LeaseHandle {
    /// Polls `body` while the lease is valid. The deadline is checked, on the client's clock, before
    /// every poll.
    ///
    /// A lease that a shutdown revokes cancels the body under either policy.
    ///
    /// # Cancellation
    /// If the future is dropped, the body is not polled any longer. The lease stays as it is.
    pub async fn hold<F: Future>(
        &self,
        mut body: Pin<&mut F>,
        on_lost: OnLost,
    ) -> BodyOutcome<F::Output> {
        // No body begins without its lock, even with `OnLost::Continue`.
        if let Some(over) = self.over() {
            return BodyOutcome::Cancelled(over);
        }
        let mut stopped = pin!(self.stopped(on_lost));
        poll_fn(|context| {
            let poll = |context: &mut Context<'_>| body.as_mut().poll(context);
            self.poll_body(on_lost, stopped.as_mut(), context, poll)
        })
        .await
    }

    /// One poll of [`hold`](Self::hold), for a caller that keeps the body and `stopped`, the future
    /// of the method of that name. The caller checks that the lease is valid before the first poll.
    pub fn poll_body<T>(
        &self,
        on_lost: OnLost,
        stopped: Pin<&mut impl Future<Output = LeaseEnd>>,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<BodyOutcome<T>> {
        if let Some(over) = self.stop_reason(on_lost) {
            return Poll::Ready(BodyOutcome::Cancelled(over));
        }
        if let Poll::Ready(output) = poll(context) {
            return Poll::Ready(match self.over() {
                None => BodyOutcome::Done(output),
                Some(over) => BodyOutcome::Late(output, over),
            });
        }
        // After the body: most bodies that never wait need no timer.
        stopped.poll(context).map(BodyOutcome::Cancelled)
    }

    /// Waits until a body under the lease has to stop, and returns the reason.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn stopped(&self, on_lost: OnLost) -> LeaseEnd {
        loop {
            // Registered here: a change before the first poll of these futures counts too.
            let mut changed = pin!(self.shared.changed.notified());
            let (until, over) = self.watched(on_lost);
            // A change before the registration would be missed otherwise.
            if let Some(over) = over {
                return over;
            }
            let mut deadline =
                (on_lost == OnLost::Cancel).then(|| self.shared.clock().sleep_until(until));
            poll_fn(|context| {
                let deadline = deadline.as_mut().map(Pin::new);
                let is_due = deadline.is_some_and(|deadline| deadline.poll(context).is_ready())
                    || changed.as_mut().poll(context).is_ready();
                if is_due {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            // Extended, lost or revoked: check again, with a new deadline.
            if let Some(over) = self.stop_reason(on_lost) {
                return over;
            }
        }
    }

    /// The end of the lease, and the reason why the body may not be polled any longer, if one was
    /// recorded.
    fn watched(&self, on_lost: OnLost) -> (Moment, Option<LeaseEnd>) {
        let state = self.shared.state.lock();
        let stop = on_lost.heeded(&state, self.over_in(&state));
        (state.deadline, stop)
    }

    /// The reason why the body may not be polled any longer, if there is one.
    fn stop_reason(&self, on_lost: OnLost) -> Option<LeaseEnd> {
        let state = self.shared.state.lock();
        on_lost.heeded(&state, self.over_now(&state))
    }
}

impl OnLost {
    /// The reason why a body stops, if its lease is `over`. A body that goes on without its lock stops
    /// only if the lease is revoked, before or after its end.
    fn heeded(self, state: &LeaseState, over: Option<LeaseEnd>) -> Option<LeaseEnd> {
        match self {
            Self::Cancel => over,
            Self::Continue => over.and(state.is_revoked.then_some(LeaseEnd::Revoked)),
        }
    }
}
