//! What a lease tells its holder: its end is near, or has come.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use crate::env::Moment;
use crate::error::LeaseEnd;

use super::{LeaseHandle, LeaseState};

/// A caller's place among the tasks that wait under a lease. Dropping it gives the place up.
struct Watching<'a> {
    lease: &'a LeaseHandle,
    id: Option<u32>,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // The waker is dropped outside of the mutex: it may be the last handle of its task.
            let _waker = self.lease.shared.state.lock().watchers.remove(id);
        }
    }
}

impl LeaseHandle {
    /// Waits until the lease is over, and returns the reason. Completes at once if the lease was
    /// released.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> LeaseEnd {
        self.until(|state, now| self.over_at(state, now).ok_or(state.deadline))
            .await
    }

    /// Waits until the lease is about to end, so that its holder can finish: less than a third of the
    /// last granted validity is left, the lease is over, or
    /// [`announce_shutdown`](Self::announce_shutdown) was called. For a renewed lease this is when the
    /// lease has its last validity, or when renewals fail.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn expiring(&self) {
        self.until(|state, now| self.expires_soon_at(state, now).map_or(Ok(()), Err))
            .await;
    }

    /// True if [`expiring`](Self::expiring) would complete at once.
    pub fn is_expiring(&self) -> bool {
        let now = self.shared.now();
        self.expires_soon_at(&self.shared.state.lock(), now)
            .is_none()
    }

    /// The later moment at which the lease is about to end; `None` if it is now.
    fn expires_soon_at(&self, state: &LeaseState, now: Moment) -> Option<Moment> {
        let is_soon = state.is_shutdown_announced || self.over_in(state).is_some();
        (!is_soon && now < state.expiring).then_some(state.expiring)
    }

    /// Looks at the state until it is as wanted. `look` returns the moment of the next look otherwise. It
    /// looks sooner if the tasks that wait are woken.
    async fn until<T>(&self, look: impl Fn(&LeaseState, Moment) -> Result<T, Moment>) -> T {
        let clock = self.shared.clock();
        let mut watching = Watching {
            lease: self,
            id: None,
        };
        let mut timer = None;
        poll_fn(|context| {
            loop {
                let now = clock.now();
                let (seen, _before) = {
                    let mut state = self.shared.state.lock();
                    // The waker goes in under the same mutex: no change is missed.
                    let before = state.watchers.set(&mut watching.id, context.waker());
                    (look(&state, now), before)
                };
                let again = match seen {
                    Ok(found) => return Poll::Ready(found),
                    Err(again) => again,
                };
                // A timer that was set for an earlier moment fires before it is needed.
                let sleep = timer.get_or_insert_with(|| clock.sleep_until(again));
                if Pin::new(sleep).poll(context).is_pending() {
                    return Poll::Pending;
                }
                timer = None;
            }
        })
        .await
    }

    /// Tells the callers of [`expiring`](Self::expiring) that the process is about to end. The lease
    /// stays valid.
    pub fn announce_shutdown(&self) {
        let watchers = {
            let mut state = self.shared.state.lock();
            state.is_shutdown_announced = true;
            state.watchers.take()
        };
        watchers.wake();
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
                state.turn.take()
            };
            (turn, state.watchers.take())
        };
        watchers.wake();
    }

    /// The keys of the lock on the nodes. Needs the feature `testing`.
    #[cfg(feature = "testing")]
    pub fn keys(&self) -> &crate::model::resource::Resource {
        self.shared.claim.kind.keys()
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
