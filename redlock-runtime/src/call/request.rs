//! Passes the request for a lock from the body's own future to its poller.
//!
//! The attribute's expressions are evaluated in the body's future, so any part of an argument that they move is dropped
//! with the body. Therefore the body is polled once before it has the lock: that poll leaves the request, and the next
//! poll is under the lock. Constants and plain templates move nothing. Calls with these skip the extra poll, which
//! saves rustc an `await`.

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
    /// The request of the body that is being polled, until its poller takes it. `ManuallyDrop` keeps the variable
    /// usable while the thread ends, because it has no destructor then.
    static REQUEST: Cell<Option<ManuallyDrop<AcquireFuture>>> = const { Cell::new(None) };
}

/// Leaves the request of the body that is being polled. The body awaits the returned future at once, which ends this
/// poll; the next poll is under the lock.
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

/// Takes the request that the body left in the last poll.
pub(super) fn take_request() -> Option<AcquireFuture> {
    REQUEST.take().map(ManuallyDrop::into_inner)
}
