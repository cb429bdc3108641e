//! What a lease tells its holder: that its end is near, or has come.

use std::pin::pin;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::LeaseEnd;

use super::LeaseHandle;

impl LeaseHandle {
    /// Waits until the lease is over, and says why. Completes at once for a handle whose lease was
    /// released.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> LeaseEnd {
        loop {
            let changed = self.shared.changed.notified();
            if let Some(over) = self.over() {
                return over;
            }
            let deadline = self.shared.deadline();
            before(self.shared.context().clock(), deadline, pin!(changed)).await;
        }
    }

    /// Waits until the lease is about to end, so that its holder can wind down: until less than a
    /// third is left of the validity that was granted last, the lease is over, or
    /// [`announce_shutdown`](Self::announce_shutdown) was called. Of a lease that is renewed, that
    /// is when it has its last validity, or when renewals fail.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn expiring(&self) {
        loop {
            let changed = self.shared.changed.notified();
            let expiring = {
                let state = self.shared.state.lock();
                if state.is_shutdown_announced || self.over_in(&state).is_some() {
                    return;
                }
                state.expiring
            };
            if self.shared.now() >= expiring {
                return;
            }
            before(self.shared.clock(), expiring, pin!(changed)).await;
        }
    }

    /// Tells whoever waits in [`expiring`](Self::expiring) that the process is about to end. The
    /// lease stays valid.
    pub fn announce_shutdown(&self) {
        self.shared.state.lock().is_shutdown_announced = true;
        self.shared.changed.notify_waiters();
    }

    /// Calls the lease back: whoever holds a body against it cancels the body, and `lost` says
    /// [`LeaseEnd::Revoked`]. The keys stay until the holder releases them, so that no other caller gets
    /// in while the body still runs.
    pub fn revoke(&self) {
        self.lose(LeaseEnd::Revoked);
    }

    /// Ends the lease as an extension does that finds too many keys gone: `lost` says
    /// [`LeaseEnd::Taken`]. For tests of what holders do then.
    #[doc(hidden)]
    pub fn lose_keys(&self) {
        self.lose(LeaseEnd::Taken);
    }

    /// Looks whether a majority of the nodes still vouches for the lease; where too many may have
    /// forgotten it since they last granted it, it is over, and `lost` says [`LeaseEnd::Forgotten`].
    /// To be called when a node [began a new epoch](crate::Node::on_new_epoch).
    pub fn recheck(&self) {
        if !self.shared.claim.is_vouched_for() {
            self.lose(LeaseEnd::Forgotten);
        }
    }
}

/// When only a third is left of a validity that began at `started`.
pub(crate) fn third_left(started: Moment, deadline: Moment) -> Moment {
    deadline.saturating_sub(deadline.saturating_since(started) / 3)
}
