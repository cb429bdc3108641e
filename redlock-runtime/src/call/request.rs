//! A request for the lock that comes out of the body's own future.
//!
//! The attribute's expressions are evaluated in that future, so what they leave of an argument is dropped with the
//! body. The body is therefore polled before it has the lock: it leaves its request, and is next polled under the
//! lock. Constants and plain templates leave nothing, so their calls spare rustc the additional `await`.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::mem::{ManuallyDrop, take};
use std::pin::Pin;
use std::task::Poll;

use crate::error::LockError;
use crate::lease::Lease;

/// An acquisition in progress.
pub(crate) type AcquireFuture = Pin<Box<dyn Future<Output = Result<Lease, LockError>> + Send>>;

thread_local! {
    /// The request of the body that is polled, until its poller takes it. Without a `Drop`, so that it also exists
    /// while the thread ends.
    static REQUEST: Cell<Option<ManuallyDrop<AcquireFuture>>> = const { Cell::new(None) };
}

/// Leaves the request of the body that is polled. The body awaits the value at once: the poll of the body ends, and the
/// next one is under the lock.
pub(crate) fn leave_request(request: AcquireFuture) -> impl Future<Output = ()> + Send {
    REQUEST.set(Some(ManuallyDrop::new(request)));
    let mut is_first = true;
    poll_fn(move |_| {
        if take(&mut is_first) {
            return Poll::Pending;
        }
        Poll::Ready(())
    })
}

/// Takes the request of the body that was polled just now.
pub(super) fn take_request() -> Option<AcquireFuture> {
    REQUEST.take().map(ManuallyDrop::into_inner)
}
