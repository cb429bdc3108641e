//! Running a body under a lease.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::env::{Moment, Sleep};
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

/// Watches the lease of one body.
#[derive(Debug)]
pub struct BodyWatch {
    on_lost: OnLost,
    has_begun: bool,
    /// True if the lock was granted in this very poll.
    is_just_granted: bool,
    /// The place of the body's waker in the lease, once the body has waited.
    id: Option<u32>,
    /// A deadline of the lease, at which the body is woken. An extension may have moved it since.
    timer: Option<Sleep>,
}

impl BodyWatch {
    /// For a body that has not begun.
    pub const fn new(on_lost: OnLost) -> Self {
        Self {
            on_lost,
            has_begun: false,
            is_just_granted: false,
            id: None,
            timer: None,
        }
    }

    /// For a body that begins in the poll in which its lock was granted. The clock was read behind the votes, and
    /// is not read again before the body's first poll.
    pub const fn of_granted(on_lost: OnLost) -> Self {
        let mut watch = Self::new(on_lost);
        watch.is_just_granted = true;
        watch
    }
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
        let mut watch = BodyWatch::new(on_lost);
        poll_fn(|context| {
            let poll = |context: &mut Context<'_>| body.as_mut().poll(context);
            self.poll_body(&mut watch, context, poll)
        })
        .await
    }

    /// One poll of [`hold`](Self::hold), for a caller that keeps the body.
    ///
    /// If the body is dropped before its end, its task may be woken once more, at the end of the lease.
    pub fn poll_body<T>(
        &self,
        watch: &mut BodyWatch,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<BodyOutcome<T>> {
        // No body begins without its lock, even with `OnLost::Continue`.
        let on_lost = if watch.has_begun {
            watch.on_lost
        } else {
            OnLost::Cancel
        };
        let over = if std::mem::take(&mut watch.is_just_granted) {
            self.recorded_end()
        } else {
            self.stop_reason(on_lost)
        };
        if let Some(over) = over {
            self.forget(watch);
            return Poll::Ready(BodyOutcome::Cancelled(over));
        }
        watch.has_begun = true;
        if let Poll::Ready(output) = poll(context) {
            self.forget(watch);
            return Poll::Ready(match self.over() {
                None => BodyOutcome::Done(output),
                Some(over) => BodyOutcome::Late(output, over),
            });
        }
        // After the body: bodies that never wait need no timer.
        self.watch(watch, context).map(BodyOutcome::Cancelled)
    }

    /// Has the body woken at the end of the lease. Returns the reason if the body has to stop already.
    fn watch(&self, watch: &mut BodyWatch, context: &mut Context<'_>) -> Poll<LeaseEnd> {
        loop {
            let (until, over, _before) = {
                let mut state = self.shared.state.lock();
                // The waker goes in under the same mutex: no end is missed.
                let before = state.watchers.set(&mut watch.id, context.waker());
                let over = watch.on_lost.heeded(&state, self.over_in(&state));
                (state.deadline, over, before)
            };
            if let Some(over) = over {
                self.forget(watch);
                return Poll::Ready(over);
            }
            if watch.on_lost == OnLost::Continue {
                return Poll::Pending;
            }
            // One that was set for an earlier deadline fires before it is needed.
            let clock = self.shared.clock();
            let sleep = watch.timer.get_or_insert_with(|| clock.sleep_until(until));
            if Pin::new(sleep).poll(context).is_pending() {
                return Poll::Pending;
            }
            watch.timer = None;
            if let Some(over) = self.stop_reason(watch.on_lost) {
                self.forget(watch);
                return Poll::Ready(over);
            }
        }
    }

    fn forget(&self, watch: &mut BodyWatch) {
        watch.timer = None;
        if let Some(id) = watch.id.take() {
            // The waker is dropped outside of the mutex: it may be the last handle of its task.
            let _waker = self.shared.state.lock().watchers.remove(id);
        }
    }

    /// The reason why the lease is over, if it ended before its deadline.
    fn recorded_end(&self) -> Option<LeaseEnd> {
        if self.is_valid_at(Moment::from_origin(Duration::ZERO)) {
            return None;
        }
        self.over_in(&self.shared.state.lock())
    }

    /// The reason why the body may not be polled any longer, if there is one.
    fn stop_reason(&self, on_lost: OnLost) -> Option<LeaseEnd> {
        let now = self.shared.now();
        if self.is_valid_at(now) {
            return None;
        }
        let state = self.shared.state.lock();
        on_lost.heeded(&state, self.over_at(&state, now))
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
