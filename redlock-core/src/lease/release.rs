//! The end of a lease: the last holder leaves, and the release is sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::env::io_thread::share_woken_tasks;
use crate::error::LeaseEnd;
use crate::quorum::kind::TurnRule;
use crate::waiting::left_claim::LeftClaim;
use crate::waiting::{Left, Turn};

use super::{Lease, LeaseHandle, LeaseShared};

/// The outcome of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// A majority of the nodes is known not to hold the key: the next holder could win now.
    Confirmed,
    /// The release was sent, but no majority confirmed it within the node timeout. A node that cannot
    /// be reached frees the key at the ttl.
    Unconfirmed,
    /// Nothing was sent: other holders still share the lock, or it was released before.
    NotLast,
    /// The lock went to the next caller of this process that waited for it.
    HandedOver,
}

impl Lease {
    /// Releases the lock on every node, unless other holders still share it. Waits until a majority of
    /// the configured nodes is known not to hold the key, for at most the node timeout. Never fails: a
    /// release that could not be delivered is repeated after the reconnection, and the ttl bounds it.
    ///
    /// # Cancellation
    /// The release is sent at the first poll, or when the future is dropped before it. A later drop
    /// only ends the waiting.
    pub async fn release(mut self) -> Released {
        let sent = self.release_share();
        let released = self.settled(sent).await;
        if let Some(run) = self.run.take() {
            self.await_remembered(&run).await;
        }
        released
    }

    /// What was sent, if this was the last holder.
    fn release_share(&mut self) -> Option<Left> {
        if std::mem::replace(&mut self.has_left, true) {
            return None;
        }
        // The renewal stops before the release is sent.
        self.stop_renewal();
        let shared = &self.handle.shared;
        if shared.joined.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        self.handle.release_once(&LeaseEnd::Released)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.release_share().is_some() {
            share_woken_tasks();
        }
    }
}

impl LeaseHandle {
    /// Ends the lease for all holders and sends the release. For a process that is about to end, and a
    /// lease without a body to wait for.
    ///
    /// # Cancellation
    /// The release is sent at the first poll. A later drop only ends the waiting.
    pub async fn revoke_and_release(&self) -> Released {
        let sent = self.release_once(&LeaseEnd::Revoked);
        self.settled(sent).await
    }

    /// Waits until a majority does not hold our key, if a release was sent.
    async fn settled(&self, sent: Option<Left>) -> Released {
        let timeout = self.shared.context().node_timeout;
        match sent {
            None => Released::NotLast,
            Some(Left::HandedOver) => Released::HandedOver,
            Some(Left::Released(round)) => {
                round.settle(self.shared.clock(), timeout).await;
                if round.tally().is_free_of_us() {
                    Released::Confirmed
                } else {
                    Released::Unconfirmed
                }
            }
        }
    }

    /// Begins the next generation, so that all handles of this one lose their effect. Then hands the
    /// lock over, or sends the release. Only the first call does this.
    pub(super) fn release_once(&self, over: &LeaseEnd) -> Option<Left> {
        let turn = self.begin_next_generation(over.clone())?;
        let left = self.shared.left_claim();
        let kind = &self.shared.claim.kind;
        let hands_over = *over == LeaseEnd::Released && kind.turn() == TurnRule::HandOver;
        let left = match turn {
            Some(turn) => turn.end(left, hands_over),
            // The lease was lost, or passed its turn on when it won. Other callers ask the nodes already.
            None => left.release().map(Left::Released),
        };
        if kind.turn() == TurnRule::PassOn && kind.number().is_some() {
            self.shared.leases.lines.released(&self.shared.line_key());
        }
        left
    }

    /// `None` if it began before.
    #[expect(
        clippy::option_option,
        reason = "the first says whether, the second what was left"
    )]
    fn begin_next_generation(&self, over: LeaseEnd) -> Option<Option<Turn>> {
        let (turn, watchers) = {
            let mut state = self.shared.state.lock();
            if state.generation != self.generation {
                return None;
            }
            state.generation += 1;
            state.over.get_or_insert(over);
            self.shared.renew_valid_until(&state);
            (state.turn.take(), state.watchers.take())
        };
        // The renewal of the lease stops here, before the release is sent.
        watchers.wake();
        Some(turn)
    }
}

impl LeaseShared {
    /// The keys that the lease leaves on the nodes.
    fn left_claim(&self) -> LeftClaim {
        let (deadline, expiring) = {
            let state = self.state.lock();
            (state.deadline, state.expiring)
        };
        LeftClaim {
            claim: Arc::clone(&self.claim),
            deadline,
            expiring,
            ttl: self.ttl,
            clock_drift_factor: self.clock_drift_factor,
            is_fenced: self.fencing_token.is_some(),
            is_taken_over: false,
        }
    }
}
