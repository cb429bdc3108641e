//! What a lease tells its holder: its end is near, or has come.

use std::pin::pin;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::LeaseEnd;

use super::LeaseHandle;

impl LeaseHandle {
    /// Waits until the lease is over, and returns the reason. Completes at once if the lease was
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

    /// Waits until the lease is about to end, so that its holder can finish: less than a third of the
    /// last granted validity is left, the lease is over, or
    /// [`announce_shutdown`](Self::announce_shutdown) was called. For a renewed lease this is when the
    /// lease has its last validity, or when renewals fail.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn expiring(&self) {
        loop {
            let changed = self.shared.changed.notified();
            let Some(expiring) = self.expires_soon_at() else {
                return;
            };
            before(self.shared.clock(), expiring, pin!(changed)).await;
        }
    }

    /// True if [`expiring`](Self::expiring) would complete at once.
    pub fn is_expiring(&self) -> bool {
        self.expires_soon_at().is_none()
    }

    /// The later moment at which the lease is about to end; `None` if it is now.
    fn expires_soon_at(&self) -> Option<Moment> {
        let expiring = {
            let state = self.shared.state.lock();
            if state.is_shutdown_announced || self.over_in(&state).is_some() {
                return None;
            }
            state.expiring
        };
        (self.shared.now() < expiring).then_some(expiring)
    }

    /// Tells the callers of [`expiring`](Self::expiring) that the process is about to end. The lease
    /// stays valid.
    pub fn announce_shutdown(&self) {
        self.shared.state.lock().is_shutdown_announced = true;
        self.shared.changed.notify_waiters();
    }

    /// Revokes the lease: a holder that runs a body under it cancels the body, also a body that goes on
    /// after the lease was lost. If the lease was valid, `lost` returns [`LeaseEnd::Revoked`]. The keys
    /// stay until the holder releases them, so that no other caller gets the lock while the body still
    /// runs.
    pub fn revoke(&self) {
        let (_turn, watchers) = {
            let mut state = self.shared.state.lock();
            if state.generation != self.generation {
                return;
            }
            // Also if the lease is over: a body may go on without it.
            state.is_revoked = true;
            let turn = if self.over_now(&state).is_some() {
                None
            } else {
                state.over = Some(LeaseEnd::Revoked);
                self.shared.renew_valid_until(&state);
                self.shared.turn(&mut state)
            };
            (turn, state.watchers.take())
        };
        self.shared.changed.notify_waiters();
        watchers.wake();
    }

    /// Ends the lease as an extension does that finds too many keys gone: `lost` says
    /// [`LeaseEnd::Taken`], without a name. For tests of what holders do then.
    /// Needs the feature `testing`.
    #[cfg(feature = "testing")]
    pub fn lose_keys(&self) {
        self.lose(LeaseEnd::Taken(None));
    }

    /// Checks that a majority of the nodes still vouches for the lease. If too many nodes may have
    /// forgotten it since their last grant, the lease is over, and `lost` returns
    /// [`LeaseEnd::Forgotten`]. Call it when a node [began a new epoch](crate::Node::on_new_epoch).
    pub fn recheck(&self) {
        if !self.shared.claim.is_vouched_for() {
            self.lose(LeaseEnd::Forgotten);
        }
    }
}

/// The moment when a third is left of a validity that began at `started`.
pub(crate) fn third_left(started: Moment, deadline: Moment) -> Moment {
    deadline.saturating_sub(deadline.saturating_since(started) / 3)
}
