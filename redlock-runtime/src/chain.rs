//! The call chain: which leases are held above the code that runs now.
//!
//! It follows the polls of the body, not the thread or the task: whatever the body polls is below
//! it, a spawned task is not.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::lease::LeaseHandle;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Link>>> = const { RefCell::new(None) };
}

/// One held lease, and the ones above it.
pub(crate) struct Link {
    pub(crate) lease: LeaseHandle,
    pub(crate) above: Option<Arc<Link>>,
}

/// The innermost link of the code that runs now.
pub(crate) fn current() -> Option<Arc<Link>> {
    // During the thread's end there is nothing left to be below of.
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}

/// The lease of the innermost body that the calling code runs below, or `None` outside of any.
///
/// The handle may be kept; once the lease is over it is inert.
pub fn current_lease() -> Option<LeaseHandle> {
    current().map(|link| link.lease.clone())
}

/// A body that runs below `link`.
pub(crate) struct Below<'a, F> {
    link: Arc<Link>,
    body: Pin<&'a mut F>,
}

impl<'a, F> Below<'a, F> {
    pub(crate) fn new(lease: LeaseHandle, body: Pin<&'a mut F>) -> Self {
        Self {
            link: Arc::new(Link {
                lease,
                above: current(),
            }),
            body,
        }
    }
}

impl<F: Future> Future for Below<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = Entered::enter(Arc::clone(&self.link));
        self.body.as_mut().poll(context)
    }
}

/// Puts the link that was there before back, also when the body panics.
struct Entered {
    before: Option<Arc<Link>>,
}

impl Entered {
    fn enter(link: Arc<Link>) -> Self {
        let before = CURRENT.try_with(|current| current.borrow_mut().replace(link));
        Self {
            before: before.ok().flatten(),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        // The link that is taken out is dropped outside of the borrow: its drop may run anything.
        let _ours = CURRENT.try_with(|current| current.replace(before));
    }
}
