//! Running a body under a lease.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::env::Sleep;
use crate::env::timeout::before;
use crate::error::LeaseEnd;

use super::LeaseHandle;

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
    on_lost: OnLost,
    has_begun: bool,
    /// Completes at the end of the lease, or sooner. It is there once the body has waited.
    ending: Option<Sleep>,
}

impl BodyWatch {
    /// For a body that has not begun.
    pub const fn new(on_lost: OnLost) -> Self {
        Self {
            on_lost,
            has_begun: false,
            ending: None,
        }
    }

    /// One poll of [`hold`](LeaseHandle::hold), for a caller that keeps the body.
    pub fn poll<T>(
        &mut self,
        lease: &LeaseHandle,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<BodyOutcome<T>> {
        if let Some(over) = self.stop_reason(lease) {
            return Poll::Ready(BodyOutcome::Cancelled(over));
        }
        self.has_begun = true;
        if let Poll::Ready(output) = poll(context) {
            return Poll::Ready(match lease.over() {
                None => BodyOutcome::Done(output),
                Some(over) => BodyOutcome::Late(output, over),
            });
        }
        // After the body: bodies that never wait need no timer.
        self.watch(lease, context).map(BodyOutcome::Cancelled)
    }

    /// Has the body woken at the end of the lease. Returns the reason if the body has to stop already.
    fn watch(&mut self, lease: &LeaseHandle, context: &mut Context<'_>) -> Poll<LeaseEnd> {
        loop {
            let ending = self
                .ending
                .get_or_insert_with(|| ending(lease, self.on_lost));
            // Polled before the look, so that no end is missed.
            let may_be_over = Pin::new(ending).poll(context).is_ready();
            if let Some(over) = self.stop_reason(lease) {
                return Poll::Ready(over);
            }
            if !may_be_over {
                return Poll::Pending;
            }
            self.ending = None;
        }
    }

    /// The reason why the body may not be polled any longer, if there is one. A body that goes on without its lock
    /// stops only if the lease is revoked, before or after its end. No body begins without its lock.
    fn stop_reason(&self, lease: &LeaseHandle) -> Option<LeaseEnd> {
        let now = lease.shared.now();
        let state = lease.shared.state.lock();
        let over = state.over_at(now)?;
        match self.on_lost {
            OnLost::Continue if self.has_begun => state.is_revoked.then_some(LeaseEnd::Revoked),
            _ => Some(over),
        }
    }
}

/// Completes when the state of the lease has changed, and at the deadline, which an extension may have moved since.
fn ending(lease: &LeaseHandle, on_lost: OnLost) -> Sleep {
    let shared = Arc::clone(&lease.shared);
    Sleep::new(async move {
        let changed = shared.changed.notified();
        match on_lost {
            OnLost::Continue => changed.await,
            OnLost::Cancel => {
                before(shared.clock(), shared.deadline(), changed).await;
            }
        }
    })
}
