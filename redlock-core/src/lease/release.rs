//! The end of a lease: who leaves last, and what is sent then.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::error::LeaseEnd;
use crate::quorum::round::Round;
use crate::waiting::Turn;
use crate::waiting::handover::{EndedLease, LeftClaim};

use super::{Lease, LeaseHandle, LeaseShared};

/// How a release went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// A majority of the nodes is known not to hold the key: a next holder could win now.
    Confirmed,
    /// The release was sent, but no majority confirmed it within the node timeout. A node that
    /// cannot be reached frees itself at the ttl.
    Unconfirmed,
    /// There was nothing to do: others who joined still hold the lock, or it was released before.
    NotLast,
    /// The lock went to the next caller of this process that waited for it.
    HandedOver,
    /// The keys stay: until their ttl, because another one who joined
    /// [left](Lease::leave_to_expire) the lease to expire, or until they were held for
    /// [`min_hold`](crate::Request::min_hold).
    LeftToExpire,
}

/// What the last one to leave sent.
enum Sent {
    Released(Arc<Round>),
    HandedOver,
    /// The keys stay for a time, a shorter one than they had where that was sent.
    Kept(Option<Arc<Round>>),
}

impl Lease {
    /// Releases the lock on every node, unless others who joined still hold it, and waits until a
    /// majority of the configured nodes is known not to hold the key; at most the node timeout.
    /// Never an error: what could not be delivered is repeated after reconnection and bounded by
    /// the ttl.
    ///
    /// # Cancellation
    /// The release is sent at the first poll, or when the future is dropped before it. Dropping
    /// the future later gives up the waiting only.
    pub async fn release(mut self) -> Released {
        let sent = self.release_share();
        self.settled(sent).await
    }

    /// Releases the lock as though nothing had ever run under it: [`min_hold`](crate::Request::min_hold) does
    /// not count.
    ///
    /// # Cancellation
    /// As for [`release`](Self::release).
    pub async fn release_now(self) -> Released {
        self.shared.state.lock().kept_until = self.shared.acquired_at;
        self.release().await
    }

    /// Leaves without a release: the keys stay until their ttl ends, unrenewed. Where others who
    /// joined still hold the lease, it goes on, and the last of them leaves the keys too. For a
    /// holder that was cut off in the middle, when what it has sent may still be at work.
    pub fn leave_to_expire(mut self) {
        // Before this one has left, so that the last one sees it.
        let shared = &self.handle.shared;
        shared.is_left_to_expire.store(true, Ordering::Release);
        self.release_share();
    }

    /// What was sent, where this was the last one to leave.
    fn release_share(&mut self) -> Option<Sent> {
        if std::mem::replace(&mut self.has_left, true) {
            return None;
        }
        let shared = &self.handle.shared;
        // The renewal stops before the release is sent.
        drop(self.renewed.take());
        if shared.joined.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        self.handle.release_once(LeaseEnd::Released)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release_share();
    }
}

impl LeaseHandle {
    /// Ends the lease for everybody who joined and sends the release. For a process that is about
    /// to end, and a lease that has no body to wait for.
    ///
    /// # Cancellation
    /// The release is sent at the first poll; dropping the future then gives up the waiting only.
    pub async fn revoke_and_release(&self) -> Released {
        let sent = self.release_once(LeaseEnd::Revoked);
        self.settled(sent).await
    }

    /// Waits until a majority is free of us, where a release was sent.
    async fn settled(&self, sent: Option<Sent>) -> Released {
        let timeout = self.shared.context().node_timeout;
        match sent {
            None => Released::NotLast,
            Some(Sent::HandedOver) => Released::HandedOver,
            Some(Sent::Kept(round)) => {
                if let Some(round) = round {
                    round.settle(self.shared.clock(), timeout).await;
                }
                Released::LeftToExpire
            }
            Some(Sent::Released(round)) => {
                round.settle(self.shared.clock(), timeout).await;
                if round.tally().is_free_of_us() {
                    Released::Confirmed
                } else {
                    Released::Unconfirmed
                }
            }
        }
    }

    /// Begins the next generation, which makes every handle of this one inert, and hands the lock
    /// over, or sends the release, or what the keys are to live yet. Once only.
    fn release_once(&self, over: LeaseEnd) -> Option<Sent> {
        let mut turn = self.begin_next_generation(over)?;
        let claim = &self.shared.claim;
        if self.shared.is_left_to_expire.load(Ordering::Acquire) {
            claim.leave_to_expire();
            return Some(Sent::Kept(None));
        }
        match self.shared.kept_for() {
            Duration::ZERO => {
                let left = self.shared.left_claim();
                // Without a turn it was lost, or passed its deadline, and others are at it already.
                let left = match turn.as_mut().filter(|_| over == LeaseEnd::Released) {
                    Some(turn) => turn.hand_over(left),
                    None => Some(left),
                };
                let end = match left {
                    None => Some(Sent::HandedOver),
                    Some(left) => left.release().map(Sent::Released),
                };
                // Behind the release, as whoever is next asks the nodes.
                if let Some(turn) = turn {
                    turn.end();
                }
                end
            }
            kept => claim.shorten(kept).map(|sent| Sent::Kept(Some(sent))),
        }
    }

    /// `None` where it was begun before.
    #[expect(
        clippy::option_option,
        reason = "the first says whether, the second what was left"
    )]
    fn begin_next_generation(&self, over: LeaseEnd) -> Option<Option<Turn>> {
        let turn = {
            let mut state = self.shared.state.lock();
            if state.generation != self.generation {
                return None;
            }
            state.generation += 1;
            state.over.get_or_insert(over);
            self.shared.turn(&mut state)
        };
        // Whoever renews the lease stops here, before the release is sent.
        self.shared.changed.notify_waiters();
        Some(turn)
    }
}

impl LeaseShared {
    /// Has a release before the lock was held for `min_hold` from now on leave the keys until then.
    pub(crate) fn keep_for(&self, min_hold: Duration) {
        let until = self.now().saturating_add(min_hold);
        let mut state = self.state.lock();
        state.kept_until = state.kept_until.max(until);
    }

    /// What the lease leaves on the nodes.
    fn left_claim(&self) -> LeftClaim {
        let lease = {
            let state = self.state.lock();
            EndedLease {
                deadline: state.deadline,
                expiring: state.expiring,
                ttl: self.ttl,
                clock_drift_factor: self.clock_drift_factor,
                is_fenced: self.fencing_token.is_some(),
            }
        };
        LeftClaim::new(Arc::clone(&self.claim), lease)
    }

    /// How long the keys are to stay behind a release now, in whole milliseconds.
    fn kept_for(&self) -> Duration {
        let kept_until = self.state.lock().kept_until;
        let left = kept_until.saturating_since(self.now());
        Duration::from_millis(u64::try_from(left.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
    }
}
