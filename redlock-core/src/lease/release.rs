//! The end of a lease: the last holder leaves, and the release is sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::env::io_thread::share_woken_tasks;
use crate::error::LeaseEnd;
use crate::quorum::kind::TurnRule;
use crate::quorum::round::Round;
use crate::waiting::Turn;
use crate::waiting::handover::{EndedLease, LeftClaim};

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

/// What the last holder sent when it left.
pub(super) enum Sent {
    Released(Arc<Round>),
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
    fn release_share(&mut self) -> Option<Sent> {
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
    async fn settled(&self, sent: Option<Sent>) -> Released {
        let timeout = self.shared.context().node_timeout;
        match sent {
            None => Released::NotLast,
            Some(Sent::HandedOver) => Released::HandedOver,
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

    /// Begins the next generation, so that all handles of this one lose their effect. Then hands the
    /// lock over, or sends the release. Only the first call does this.
    pub(super) fn release_once(&self, over: &LeaseEnd) -> Option<Sent> {
        let mut turn = self.begin_next_generation(over.clone())?;
        let left = self.shared.left_claim();
        // A lease without a turn was lost, or passed its deadline, and other callers ask the nodes already.
        let kind = &self.shared.claim.kind;
        let is_handed_over = *over == LeaseEnd::Released && kind.turn() == TurnRule::HandOver;
        let left = match turn.as_mut().filter(|_| is_handed_over) {
            Some(turn) => turn.hand_over(left),
            None => Some(left),
        };
        let end = match left {
            None => Some(Sent::HandedOver),
            Some(left) => left.release().map(Sent::Released),
        };
        // After the release, as the next caller asks the nodes.
        if let Some(turn) = turn {
            turn.end();
        }
        if kind.turn() == TurnRule::PassOn && kind.number().is_some() {
            self.shared.leases.lines.released(&self.shared.line_key());
        }
        end
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
}
