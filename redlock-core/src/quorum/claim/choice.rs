//! A claim on any of several equal locks. It is first on all locks, and then on the lock that a majority granted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use crate::node::{Call, Vote, VoteReceiver};
use crate::quorum::kind::Kind;
use crate::quorum::round::{Goal, Round, bit};

use super::{Claim, Part};

/// Receives the votes of an acquisition of one of several locks. Once the attempt has won, it tells the claim of
/// each further vote, on the node's thread.
pub(super) struct ChoiceVotes {
    pub(super) round: Arc<Round>,
    /// The claim on the lock that was won. It is gone once the lease is over.
    won: OnceLock<Weak<Claim>>,
}

impl ChoiceVotes {
    pub(super) fn new(round: &Arc<Round>) -> Self {
        Self {
            round: Arc::clone(round),
            won: OnceLock::new(),
        }
    }
}

impl VoteReceiver for ChoiceVotes {
    fn vote(&self, seat: usize, vote: Vote) {
        self.round.vote(seat, vote);
        // If the claim is set after this look, the vote is among those that the attempt looks at then.
        if let Some(claim) = self.won.get().and_then(Weak::upgrade) {
            claim.release_others(bit(seat));
        }
    }
}

/// All the locks, as long as a node whose answer is not known may have granted any of them.
pub(super) struct Unheard {
    all: Arc<dyn Kind>,
    /// The seats whose answers are not known.
    seats: AtomicU64,
}

impl Unheard {
    /// Takes out those of `seats` that are left, so that each seat is dealt with once.
    fn take(&self, seats: u64) -> u64 {
        self.seats.fetch_and(!seats, Ordering::AcqRel) & seats
    }
}

impl Claim {
    /// The same claim on the one lock that a majority granted. Every node that answered otherwise is sent the
    /// release of the others, and every further one once its answer is known. From then on the claim is that of
    /// this one lock. `None` if no majority granted the same one.
    pub(crate) fn narrow(self: &Arc<Self>, acquisition: &Arc<Round>) -> Option<Arc<Self>> {
        if !acquisition.tally().is_won() {
            return None;
        }
        let kind = self.kind.chosen(&self.call, acquisition.choice()?)?;
        let all_seats = (0..self.nodes.len()).fold(0, |seats, seat| seats | bit(seat));
        let part = Part::One(Unheard {
            all: Arc::clone(&self.kind),
            seats: AtomicU64::new(all_seats),
        });
        let (token, ttl) = (self.token.clone(), self.longest_ttl());
        let call = Arc::clone(&self.call);
        let claim = Self::sent(&self.nodes, kind, token, ttl, (call, acquisition), part);
        let claim = Arc::new(claim);
        self.state.lock().has_ended = true;
        if let Part::Any(votes) = &self.part {
            // A claim is narrowed once.
            let _ = votes.won.set(Arc::downgrade(&claim));
        }
        claim.release_others(acquisition.seats().answered());
        Some(claim)
    }

    /// Releases the locks that the claim did not win. The answers of `seats` are known. A seat that granted the lock
    /// that was won gets no release, and no seat gets a second one.
    fn release_others(&self, seats: u64) {
        let Part::One(unheard) = &self.part else {
            return;
        };
        // A seat that granted this lock has no other of ours.
        let seats = unheard.take(seats) & !self.state.lock().acquisition.seats().granted;
        if seats != 0 {
            let release = Arc::new(self.release_of(&*unheard.all, Some(&*self.kind)));
            self.send_to(seats, Goal::All, |_| Arc::clone(&release));
        }
    }

    /// The release of all the locks, and the seats that it goes to at the end of the claim: those whose answers
    /// are not known, which may have granted any of them.
    pub(super) fn unheard_release(&self) -> Option<(Arc<Call>, u64)> {
        let Part::One(unheard) = &self.part else {
            return None;
        };
        let seats = unheard.take(u64::MAX);
        (seats != 0).then(|| (Arc::new(self.release_of(&*unheard.all, None)), seats))
    }
}
