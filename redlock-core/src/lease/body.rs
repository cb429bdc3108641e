//! Runs a body under a lease.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use smallvec::SmallVec;

use crate::env::Sleep;
use crate::error::LeaseEnd;

use super::LeaseHandle;

/// The policy for a body whose lease is lost or whose validity ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnLost {
    /// The body is cancelled: its polls end, and the call ends with the loss.
    #[default]
    Cancel,
    /// The body continues, although the lock is lost, and its value is returned. Only a shutdown stops such a body.
    /// Unless the body asks the lease, only log and metrics report the loss: a failed renewal at the deadline, other
    /// losses when the body ends.
    Continue,
}

/// The outcome of a body.
// It is exhaustive, because a wildcard arm would discard the value of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyOutcome<T> {
    /// The body returned while the lease was valid.
    Done(T),
    /// The body returned in a poll that ran past the end of the lease.
    Late(T, LeaseEnd),
    /// The body was cancelled: its polls ended with the lease.
    Cancelled(LeaseEnd),
}

/// Watches the lease for one body.
#[derive(Debug)]
pub struct BodyWatch {
    lease: LeaseHandle,
    on_lost: OnLost,
    /// The policy at present: `Cancel` until the first poll, then `on_lost`. So no body begins under a lease that is
    /// over.
    policy: OnLost,
    /// The body's number among the bodies of the lease, or zero until the body has waited.
    number: u32,
    /// A timer for a deadline of the lease. An extension may have moved the deadline since the timer was made.
    timer: Option<Sleep>,
}

impl BodyWatch {
    /// Makes the watch for a body before its first poll.
    pub const fn new(lease: LeaseHandle, on_lost: OnLost) -> Self {
        Self {
            lease,
            on_lost,
            policy: OnLost::Cancel,
            number: 0,
            timer: None,
        }
    }

    /// Polls the body once, by the rules of [`hold`](LeaseHandle::hold). The caller keeps the body.
    pub fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<BodyOutcome<T>> {
        if let Some(over) = self.lease.shared.stop_reason(self.policy) {
            return Poll::Ready(BodyOutcome::Cancelled(over));
        }
        self.policy = self.on_lost;
        if let Poll::Ready(output) = poll(context) {
            return Poll::Ready(match self.lease.over() {
                None => BodyOutcome::Done(output),
                Some(over) => BodyOutcome::Late(output, over),
            });
        }
        // Register after the poll, because only a body that waits needs a timer.
        self.watch(context).map(BodyOutcome::Cancelled)
    }

    /// Arranges that the body is woken at the end of the lease. Returns the reason if the body has to stop already.
    fn watch(&mut self, context: &mut Context<'_>) -> Poll<LeaseEnd> {
        let policy = self.policy;
        loop {
            let shared = &self.lease.shared;
            let deadline = match shared.register_body(&mut self.number, context.waker(), policy) {
                Ok(deadline) => deadline,
                Err(over) => return Poll::Ready(over),
            };
            if policy == OnLost::Continue {
                return Poll::Pending;
            }
            let timer = self
                .timer
                .get_or_insert_with(|| shared.clock().sleep_until(deadline));
            if Pin::new(timer).poll(context).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
            if let Some(over) = shared.stop_reason(policy) {
                return Poll::Ready(over);
            }
        }
    }
}

impl Drop for BodyWatch {
    fn drop(&mut self) {
        if self.number != 0 {
            self.lease.shared.forget_body(self.number);
        }
    }
}

/// The bodies that wait under one lease, by their numbers.
#[derive(Default)]
pub(super) struct BodyWakers {
    wakers: SmallVec<[(u32, Waker); 1]>,
    last_number: u32,
}

impl BodyWakers {
    /// Registers the waker of the body with this number. If the number is zero, the body gets a new number first.
    /// Returns the previous waker, which has to be dropped after the mutex is unlocked.
    pub(super) fn register(&mut self, number: &mut u32, waker: &Waker) -> Option<(u32, Waker)> {
        if *number == 0 {
            self.last_number = self.last_number.wrapping_add(1).max(1);
            *number = self.last_number;
        }
        let earlier = self.forget(*number);
        self.wakers.push((*number, waker.clone()));
        earlier
    }

    /// Removes and returns the waker of a body. Drop the waker after the mutex is unlocked.
    pub(super) fn forget(&mut self, number: u32) -> Option<(u32, Waker)> {
        let place = self.wakers.iter().position(|(it, _)| *it == number);
        place.map(|place| self.wakers.swap_remove(place))
    }

    /// Takes all wakers. Call the wakers after the mutex is unlocked.
    pub(super) fn take_all(&mut self) -> SmallVec<[(u32, Waker); 1]> {
        mem::take(&mut self.wakers)
    }
}
