//! A request for the lock that comes out of the body's own future.
//!
//! The attribute's expressions are evaluated in that future, so what they leave of an argument is dropped with the
//! body. The body is therefore polled before it has the lock: it leaves its request, and is next polled under the
//! lock. Constants and plain templates leave nothing, so their calls spare rustc the additional `await`.

use std::cell::Cell;
use std::future::Future;
use std::mem::{ManuallyDrop, replace};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::acquire::Acquisition;

thread_local! {
    /// The request of the body that is polled, until its poller takes it. Without a `Drop`, so that it also exists
    /// while the thread ends.
    static REQUEST: Cell<Option<ManuallyDrop<Acquisition>>> = const { Cell::new(None) };
}

/// Leaves the request of the body that is polled. The body awaits the value at once.
pub(super) fn ask(request: Acquisition) -> Asked {
    REQUEST.set(Some(ManuallyDrop::new(request)));
    Asked { is_pending: true }
}

/// Takes the request of the body that was polled just now.
pub(super) fn asked() -> Option<Acquisition> {
    REQUEST.take().map(ManuallyDrop::into_inner)
}

/// Ends the poll of a body that has left its request. The next one is under the lock.
#[must_use = "futures do nothing unless awaited"]
pub struct Asked {
    is_pending: bool,
}

impl Future for Asked {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if replace(&mut self.is_pending, false) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}
