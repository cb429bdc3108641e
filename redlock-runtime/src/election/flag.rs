//! A request to stop, which stands once it was made.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Raised at most once. Raising it again has no effect.
#[derive(Debug, Default)]
pub(super) struct Flag {
    is_raised: AtomicBool,
    raised: Notify,
}

impl Flag {
    pub(super) fn raise(&self) {
        self.is_raised.store(true, Ordering::Release);
        self.raised.notify_waiters();
    }

    pub(super) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    /// Completes once it is raised.
    pub(super) async fn raised(&self) {
        // Registered before the flag is read, so that nothing in between is missed.
        let raised = self.raised.notified();
        if !self.is_raised() {
            raised.await;
        }
    }
}
