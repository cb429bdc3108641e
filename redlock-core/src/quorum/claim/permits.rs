//! A claim on a permit: first on all of them, then on the one that a majority granted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::env::{Clock, Moment};
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::operation::{Operation, SharedOperation, Want};
use crate::node::{Answer, Answers, NodeSet, PermitKey, Reply};
use crate::quorum::round::{Goal, Round, bit, submit};

use super::{Claim, ClaimEnd, Special};

/// Receives the votes of an acquisition of a permit. Once the attempt has won, it tells the claim of each
/// further vote, on the node's thread.
pub(super) struct PermitVotes {
    round: Arc<Round>,
    /// The claim on the permit that was won. It is gone once the lease is over.
    won: OnceLock<Weak<Claim>>,
}

impl Answers for PermitVotes {
    fn answer(&self, seat: usize, answer: Answer) {
        self.round.vote(seat, answer);
        // If the claim is set after this look, the vote is among those that the attempt looks at then.
        if let Some(claim) = self.won.get().and_then(Weak::upgrade) {
            claim.release_others(bit(seat));
        }
    }

    fn is_retracted(&self) -> bool {
        self.round.is_retracted()
    }
}

/// The permits of the resource, as long as a node whose answer is not known may have granted any of them.
pub(super) struct AllPermits {
    keys: Resource,
    /// The seats whose answers are not known.
    unheard: AtomicU64,
}

impl AllPermits {
    /// Takes out those of `seats` that are left, so that each seat is dealt with once.
    fn take(&self, seats: u64) -> u64 {
        self.unheard.fetch_and(!seats, Ordering::AcqRel) & seats
    }
}

impl Claim {
    /// Sends an acquisition of a permit to all nodes at once, and returns its votes too. The claim is on all
    /// permits until it is [narrowed](Self::narrow), because each node decides which one it grants.
    pub(crate) fn acquire_permit(
        nodes: &NodeSet,
        keys: &Resource,
        order: Vec<PermitKey>,
        token: OwnerToken,
        ttl: Duration,
        in_time: (Arc<dyn Clock>, Moment),
    ) -> (Arc<Self>, Arc<Round>) {
        let want = Want::AcquirePermit { ttl };
        let operation = Operation::new(keys.clone(), token.clone(), want).with_permits(order);
        let operation = Arc::new(operation);
        let acquisition = Round::with_time(nodes.len(), Goal::Majority, Some(in_time));
        let votes = Arc::new(PermitVotes {
            round: Arc::clone(&acquisition),
            won: OnceLock::new(),
        });
        for (seat, node) in nodes.iter().enumerate() {
            let reply = Reply::new(Arc::clone(&votes), seat);
            submit(&**node, Arc::clone(&operation), reply);
        }
        let special = Some(Special::AnyPermit(votes));
        let claim = Self::sent(nodes, keys.clone(), token, ttl, &acquisition, None, special);
        (Arc::new(claim), acquisition)
    }

    /// The same claim on the permit with the key `won` alone, which a majority granted. Every node that
    /// answered otherwise is sent the release of the other permits, and every further one once its answer is
    /// known. From then on the claim is that of a plain lock on this key.
    pub(crate) fn narrow(&self, won: Resource, acquisition: &Arc<Round>) -> Arc<Self> {
        let all_seats = (0..self.nodes.len()).fold(0, |seats, seat| seats | bit(seat));
        let all = Special::OnePermit(AllPermits {
            keys: self.keys.clone(),
            unheard: AtomicU64::new(all_seats),
        });
        let (token, ttl) = (self.token.clone(), self.longest_ttl());
        let claim = Self::sent(&self.nodes, won, token, ttl, acquisition, None, Some(all));
        let claim = Arc::new(claim);
        // The acquisition is not retracted: its release goes to a node only behind the node's answer, or at
        // the end of the new claim.
        self.state.lock().ending.get_or_insert(ClaimEnd::Narrowed);
        if let Some(Special::AnyPermit(votes)) = &self.special {
            // A claim is narrowed once.
            let _ = votes.won.set(Arc::downgrade(&claim));
        }
        claim.release_others(acquisition.answered_seats());
        claim
    }

    /// Sends the release of the permits that were not won to those of `seats`, whose answers are known, that
    /// did not grant the one that was. Each seat is dealt with once.
    fn release_others(&self, seats: u64) {
        let Some(Special::OnePermit(all)) = &self.special else {
            return;
        };
        // A seat that granted this permit has no other of ours.
        let seats = all.take(seats) & !self.state.lock().acquisition.granted_seats();
        if seats != 0 {
            let ttl = self.longest_ttl();
            let others = all.keys.without(&self.keys);
            let release = Operation::new(others, self.token.clone(), Want::Release { ttl });
            let release = Arc::new(release);
            self.send_to(seats, Goal::All, |_| Arc::clone(&release));
        }
    }

    /// The release of all permits, and the seats that it goes to at the end of the claim: those whose answers
    /// are not known, which may have granted any permit.
    pub(super) fn unheard_release(&self, want: Want) -> Option<(SharedOperation, u64)> {
        let Some(Special::OnePermit(all)) = &self.special else {
            return None;
        };
        let seats = all.take(u64::MAX);
        let release = || Operation::new(all.keys.clone(), self.token.clone(), want);
        (seats != 0).then(|| (Arc::new(release()), seats))
    }
}
