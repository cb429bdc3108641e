//! Running a body under a lease.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::env::{Moment, Sleep};
use crate::error::LeaseEnd;

use super::LeaseHandle;
use super::shared::LeaseState;

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
    lease: LeaseHandle,
    on_lost: OnLost,
    has_begun: bool,
    /// Its number among the bodies of the lease; zero until the body has waited.
    number: u32,
    /// Completes at a deadline of the lease, which an extension may have moved since.
    timer: Option<Sleep>,
}

impl BodyWatch {
    /// For a body that has not begun.
    pub const fn new(lease: LeaseHandle, on_lost: OnLost) -> Self {
        Self {
            lease,
            on_lost,
            has_begun: false,
            number: 0,
            timer: None,
        }
    }

    /// One poll of [`hold`](LeaseHandle::hold), for a caller that keeps the body.
    pub fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<BodyOutcome<T>> {
        if let Some(over) = self.stop_reason() {
            return Poll::Ready(BodyOutcome::Cancelled(over));
        }
        self.has_begun = true;
        if let Poll::Ready(output) = poll(context) {
            return Poll::Ready(match self.lease.over() {
                None => BodyOutcome::Done(output),
                Some(over) => BodyOutcome::Late(output, over),
            });
        }
        // After the body: bodies that never wait need no timer.
        self.watch(context).map(BodyOutcome::Cancelled)
    }

    /// Has the body woken at the end of the lease. Returns the reason if the body has to stop already.
    fn watch(&mut self, context: &mut Context<'_>) -> Poll<LeaseEnd> {
        loop {
            let deadline = match self.register(context.waker()) {
                Ok(deadline) => deadline,
                Err(over) => return Poll::Ready(over),
            };
            if self.on_lost == OnLost::Continue {
                return Poll::Pending;
            }
            let clock = self.lease.shared.clock();
            let timer = self
                .timer
                .get_or_insert_with(|| clock.sleep_until(deadline));
            if Pin::new(timer).poll(context).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
            if let Some(over) = self.stop_reason() {
                return Poll::Ready(over);
            }
        }
    }

    /// Has the waker woken when the state of the lease changes. Returns the deadline, or the reason why the body has to
    /// stop already.
    fn register(&mut self, waker: &Waker) -> Result<Moment, LeaseEnd> {
        // Dropped once the mutex is unlocked: it may be the last handle of its task.
        let _earlier;
        let mut state = self.lease.shared.state.lock();
        if self.number == 0 {
            state.last_body = state.last_body.wrapping_add(1).max(1);
            self.number = state.last_body;
        }
        _earlier = state.forget_body(self.number);
        state.bodies.push((self.number, waker.clone()));
        // The timer sees to the deadline.
        let reason = self.reason(&state, Moment::default());
        reason.map_or(Ok(state.deadline), Err)
    }

    fn stop_reason(&self) -> Option<LeaseEnd> {
        let now = self.lease.shared.now();
        self.reason(&self.lease.shared.state.lock(), now)
    }

    /// The reason why the body may not be polled any longer, if there is one. A body that goes on without its lock
    /// stops only if the lease is revoked, before or after its end. No body begins without its lock.
    fn reason(&self, state: &LeaseState, now: Moment) -> Option<LeaseEnd> {
        match self.on_lost {
            OnLost::Continue if self.has_begun => state.is_revoked.then_some(LeaseEnd::Revoked),
            _ => state.over_at(now),
        }
    }
}

impl Drop for BodyWatch {
    fn drop(&mut self) {
        if self.number != 0 {
            let _waker = self.lease.shared.state.lock().forget_body(self.number);
        }
    }
}
