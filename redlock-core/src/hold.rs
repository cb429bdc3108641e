//! Running a body under a lease.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::futures::OwnedNotified;

use crate::environment::Sleep;
use crate::error::Over;
use crate::lease::LeaseHandle;

/// What happens to a body when its lease is lost or its validity ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLost {
    /// The body is not polled any more; the call ends with the loss.
    #[default]
    Cancel,
    /// The body goes on without the lock.
    Continue,
}

/// How a body ended.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Held<T> {
    /// It returned while the lease was valid.
    Done(T),
    /// It returned, but in a poll that ran past the end of the lease.
    Late(T, Over),
    /// It was cancelled: not polled again once the lease was over.
    Cancelled(Over),
}

/// A body held against a lease. See [`LeaseHandle::hold`].
#[must_use = "futures do nothing unless awaited"]
pub struct Hold<'a, F> {
    lease: &'a LeaseHandle,
    body: Pin<&'a mut F>,
    on_lost: OnLost,
    /// Made once the body has to wait: most bodies that do not need no timer.
    watch: Option<Watch>,
}

struct Watch {
    deadline: Sleep,
    changed: Pin<Box<OwnedNotified>>,
}

impl LeaseHandle {
    /// Polls `body` for as long as the lease is valid. The deadline is checked, on the client's
    /// clock, before every poll.
    ///
    /// A lease that is called back for shutdown cancels the body under either policy.
    ///
    /// # Cancellation
    /// Dropping the future stops polling the body; the lease stays as it is.
    pub fn hold<'a, F: Future>(&'a self, body: Pin<&'a mut F>, on_lost: OnLost) -> Hold<'a, F> {
        Hold {
            lease: self,
            body,
            on_lost,
            watch: None,
        }
    }
}

impl<F: Future> Hold<'_, F> {
    /// Whether the body may not be polled any more.
    fn verdict(&self) -> Option<Over> {
        let over = self.lease.over()?;
        (self.on_lost == OnLost::Cancel || over == Over::Revoked).then_some(over)
    }

    /// A watch that is armed from here on: a change that comes before its first poll counts too.
    fn watch(&self) -> Watch {
        let shared = &self.lease.shared;
        let changed = Box::pin(shared.changed.clone().notified_owned());
        Watch {
            deadline: shared.clock().sleep_until(shared.deadline()),
            changed,
        }
    }
}

impl<F: Future> Future for Hold<'_, F> {
    type Output = Held<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(over) = this.verdict() {
            return Poll::Ready(Held::Cancelled(over));
        }
        if let Poll::Ready(output) = this.body.as_mut().poll(context) {
            return Poll::Ready(match this.lease.over() {
                None => Held::Done(output),
                Some(over) => Held::Late(output, over),
            });
        }
        loop {
            if this.watch.is_none() {
                this.watch = Some(this.watch());
                // What happened before the watch was armed would otherwise never be heard of.
                if let Some(over) = this.verdict() {
                    return Poll::Ready(Held::Cancelled(over));
                }
            }
            let heeds_deadline = this.on_lost == OnLost::Cancel;
            let Some(watch) = &mut this.watch else {
                continue;
            };
            let is_due = heeds_deadline && Pin::new(&mut watch.deadline).poll(context).is_ready()
                || watch.changed.as_mut().poll(context).is_ready();
            if !is_due {
                return Poll::Pending;
            }
            // Extended, lost, or called back: look again, with a fresh watch.
            this.watch = None;
        }
    }
}
