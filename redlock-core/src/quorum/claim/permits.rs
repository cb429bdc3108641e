//! A claim on permits: first on all of them, then on those that a majority granted.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::{Clock, Moment};
use crate::model::permits::PermitSet;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::operation::{Operation, SharedOperation, Want};
use crate::node::{Answer, Answers, NodeSet, PermitOrder, Reply};
use crate::quorum::permits::PermitKeys;
use crate::quorum::round::{Goal, Round, bit, submit};

use super::{Claim, ClaimEnd, Special};

/// Receives the votes of an acquisition of permits. Once the attempt has won, it tells the claim of each
/// further vote, on the node's thread.
pub(super) struct PermitVotes {
    round: Arc<Round>,
    /// The claim on the permits that were won. It is gone once the lease is over.
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

/// The permits that an attempt did not win, as long as a node may have granted them whose answer is not
/// known.
pub(super) struct OtherPermits {
    won: PermitSet,
    unheard: Mutex<Unheard>,
}

struct Unheard {
    seats: u64,
    /// The keys of all permits, while there are such seats: a lease that is renewed for hours need not keep
    /// them.
    keys: Option<Arc<PermitKeys>>,
}

impl OtherPermits {
    /// Takes out those of `seats` that are left, so that each seat is dealt with once.
    fn take(&self, seats: u64) -> Option<(Arc<PermitKeys>, u64)> {
        let mut unheard = self.unheard.lock();
        let taken = unheard.seats & seats;
        if taken == 0 {
            return None;
        }
        unheard.seats &= !taken;
        let keys = if unheard.seats == 0 {
            unheard.keys.take()
        } else {
            unheard.keys.clone()
        };
        Some((keys?, taken))
    }

    #[cfg(test)]
    pub(super) fn keeps_keys(&self) -> bool {
        self.unheard.lock().keys.is_some()
    }
}

impl Claim {
    /// Sends an acquisition of permits to all nodes at once, and returns its votes too. The claim is on all
    /// permits until it is [narrowed](Self::narrow), because each node decides which ones it grants.
    pub(crate) fn acquire_permits(
        nodes: &NodeSet,
        keys: &Resource,
        order: PermitOrder,
        token: OwnerToken,
        ttl: Duration,
        in_time: (Arc<dyn Clock>, Moment),
        hint: u64,
    ) -> (Arc<Self>, Arc<Round>) {
        let want = Want::AcquirePermits { ttl, hint };
        let operation = Operation::new(keys.clone(), token.clone(), want);
        let operation = Arc::new(operation.with_permits(order));
        let acquisition = Round::with_time(nodes.len(), Goal::Majority, Some(in_time));
        let votes = Arc::new(PermitVotes {
            round: Arc::clone(&acquisition),
            won: OnceLock::new(),
        });
        for (seat, node) in nodes.iter().enumerate() {
            let reply = Reply::new(Arc::clone(&votes), seat);
            submit(&**node, Arc::clone(&operation), reply);
        }
        let special = Some(Special::AllPermits(votes));
        let claim = Self::sent(nodes, keys.clone(), token, ttl, &acquisition, None, special);
        (Arc::new(claim), acquisition)
    }

    /// The same claim on `won` alone, which a majority granted. Every node that answered otherwise is sent
    /// the release of the other permits, and every further one once its answer is known. From then on the
    /// claim is that of a plain lock on the keys of these permits.
    pub(crate) fn narrow(
        &self,
        keys: &Arc<PermitKeys>,
        won: PermitSet,
        acquisition: &Arc<Round>,
    ) -> Arc<Self> {
        let (token, ttl) = (self.token.clone(), self.longest_ttl());
        let has_others = won.len() < keys.all().names().len();
        let others = has_others.then(|| {
            let seats = (0..self.nodes.len()).fold(0, |seats, seat| seats | bit(seat));
            let keys = Some(Arc::clone(keys));
            let unheard = Mutex::new(Unheard { seats, keys });
            Special::WonPermits(OtherPermits { won, unheard })
        });
        let counters = keys.counters_of(won);
        let claim = Self::sent(
            &self.nodes,
            keys.of(won),
            token,
            ttl,
            acquisition,
            counters,
            others,
        );
        let claim = Arc::new(claim);
        // The acquisition is not retracted: its release goes to a node only behind the node's answer, or at
        // the end of the new claim.
        self.state.lock().ending.get_or_insert(ClaimEnd::Narrowed);
        if let Some(Special::AllPermits(votes)) = &self.special {
            // A claim is narrowed once.
            let _ = votes.won.set(Arc::downgrade(&claim));
        }
        claim.release_others(acquisition.answered_seats());
        claim
    }

    /// Sends the release of the permits that were not won to those of `seats` that did not grant exactly
    /// the others: their answers are known, or no answer is waited for any more. Each seat is dealt with
    /// once.
    pub(super) fn release_others(&self, seats: u64) {
        let Some(Special::WonPermits(others)) = &self.special else {
            return;
        };
        let Some((keys, seats)) = others.take(seats) else {
            return;
        };
        // A seat that granted exactly these permits has no others of ours.
        let granted = self.state.lock().acquisition.seats().granted;
        if seats & !granted != 0 {
            let ttl = self.longest_ttl();
            let rest = keys.all_but(others.won);
            let release = Operation::new(rest, self.token.clone(), Want::Release { ttl });
            let release = Arc::new(release);
            self.send_to(seats & !granted, Goal::All, |_| Arc::clone(&release));
        }
    }

    /// The release of all permits, and the seats that it goes to at the end of the claim: those whose answers
    /// are not known, which may have granted any permits.
    pub(super) fn unheard_release(&self, want: Want) -> Option<(SharedOperation, u64)> {
        let Some(Special::WonPermits(others)) = &self.special else {
            return None;
        };
        let (keys, seats) = others.take(u64::MAX)?;
        let release = Operation::new(keys.all().clone(), self.token.clone(), want);
        Some((Arc::new(release), seats))
    }
}
