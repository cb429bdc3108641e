//! The keys of one attempt on the nodes, and their removal.

mod ending;
mod permits;
pub(crate) mod sharing;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::{Clock, Moment};
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeSet;
use crate::node::operation::{Operation, Want};
use ending::ClaimEnd;
use permits::{AllPermits, PermitVotes};
use sharing::{SharedAttempt, SharedClaim};

use super::extension_proof::{ExtensionProof, ProofState, Voters};
use super::majority;
use super::round::{Goal, Round, bit, seats_in};

/// One owner token on a set of nodes, from the sending of the acquisition to the sending of its
/// release. Dropping it sends the release, so no way out of an attempt or a lease forgets the nodes.
pub(crate) struct Claim {
    pub(crate) nodes: NodeSet,
    pub(crate) keys: Resource,
    pub(crate) token: OwnerToken,
    /// The keys of the fencing counters, if a fencing token is asked for.
    counters: Option<Resource>,
    /// What the claim of another kind than a plain lock's has besides.
    special: Option<Special>,
    /// The longest time in ms for which any node may keep the keys without hearing from us.
    longest_ttl: AtomicU64,
    state: Mutex<ClaimState>,
}

/// What a claim has that is not a plain lock's.
enum Special {
    Shared(SharedClaim),
    /// The claim of an attempt on any permit, with the receiver of its votes.
    AnyPermit(Arc<PermitVotes>),
    /// The claim on the permit that an attempt won.
    OnePermit(AllPermits),
}

struct ClaimState {
    /// The votes of the acquisition.
    acquisition: Arc<Round>,
    ending: Option<ClaimEnd>,
    /// The number of callers that are putting keys back. If the release was sent meanwhile, the last of
    /// these callers removes the keys again.
    restoring: u32,
    /// The nodes that an extension may count.
    extension_proof: ExtensionProof,
    /// The last round in which a majority proved that the lock is ours, and the seats that the lease rests
    /// on by it: an extension, if there was one since the acquisition.
    proof: Option<(Arc<Round>, u64)>,
}

/// An extension that was sent.
pub(crate) struct Extension {
    pub(crate) round: Arc<Round>,
    voters: Voters,
}

impl Claim {
    /// The number of nodes that have granted the acquisition.
    pub(crate) fn votes(&self) -> usize {
        seats_in(self.state.lock().acquisition.seats().granted)
    }

    /// Sends the acquisition to all nodes at once, and returns its votes too. If a grant comes after
    /// `in_time` and the lease is made already, the grant proves nothing yet. `counters` are the keys of
    /// the fencing counters, and the least that they should stand at. `shared` is what a reader or a
    /// writer has besides.
    pub(crate) fn acquire(
        nodes: &NodeSet,
        keys: Resource,
        token: OwnerToken,
        ttl: Duration,
        in_time: (Arc<dyn Clock>, Moment),
        counters: Option<(Resource, u64)>,
        shared: Option<SharedAttempt>,
    ) -> (Arc<Self>, Arc<Round>) {
        let (counters, hint) = counters.map_or((None, 0), |(keys, hint)| (Some(keys), hint));
        let want = Want::Acquire { ttl, hint };
        let operation =
            Operation::new(keys.clone(), token.clone(), want).with_counters(counters.clone());
        let shared = shared.map(SharedClaim::new);
        let operation = operation.with_sharing(shared.as_ref().and_then(|it| it.part_of(want)));
        let acquisition = Round::start_with(
            nodes,
            &Arc::new(operation),
            Goal::Majority,
            Some(in_time),
            |_| true,
        );
        let special = shared.map(Special::Shared);
        let claim = Self::sent(nodes, keys, token, ttl, &acquisition, counters, special);
        (Arc::new(claim), acquisition)
    }

    /// The claim of an acquisition that was sent.
    fn sent(
        nodes: &NodeSet,
        keys: Resource,
        token: OwnerToken,
        ttl: Duration,
        acquisition: &Arc<Round>,
        counters: Option<Resource>,
        special: Option<Special>,
    ) -> Self {
        Self {
            nodes: Arc::clone(nodes),
            keys,
            token,
            counters,
            special,
            longest_ttl: AtomicU64::new(millis(ttl)),
            state: Mutex::new(ClaimState {
                acquisition: Arc::clone(acquisition),
                ending: None,
                restoring: 0,
                extension_proof: ExtensionProof::default(),
                proof: None,
            }),
        }
    }

    /// Raises the counters at `seats` to `counter`. The other seats count as answered.
    pub(crate) fn confirm(&self, counter: u64, seats: &[usize]) -> Arc<Round> {
        let operation = self.operation(Want::Confirm {
            counter,
            ttl: self.longest_ttl(),
        });
        let is_wanted = |seat| seats.contains(&seat);
        Round::start(&self.nodes, &Arc::new(operation), Goal::All, is_wanted)
    }

    /// Sends an extension to all nodes.
    pub(crate) fn extend(&self, ttl: Duration) -> Extension {
        self.longest_ttl.fetch_max(millis(ttl), Ordering::Relaxed);
        let voters = {
            let mut state = self.state.lock();
            let acquisition = state.acquisition.seats();
            state.extension_proof.voters(acquisition)
        };
        let operation = Arc::new(self.operation(Want::Extend { ttl }));
        let goal = Goal::MajorityOf(voters.continuous);
        let round = Round::start(&self.nodes, &operation, goal, |_| true);
        Extension { round, voters }
    }

    /// Judges the votes of an extension.
    pub(crate) fn judge(&self, extension: &Extension) -> ProofState {
        let round = &extension.round;
        let granted = round.vouching_seats(&self.nodes);
        let voters = extension.voters;
        let mut state = self.state.lock();
        let acquisition = state.acquisition.seats();
        let extension_proof = &mut state.extension_proof;
        let (outcome, counted) =
            extension_proof.judge(acquisition, voters, self.nodes.len(), round, granted);
        if outcome == ProofState::Proved {
            state.proof = Some((Arc::clone(round), counted));
        }
        outcome
    }

    /// The seats whose grants of an extension count.
    pub(crate) fn counts(&self, extension: &Extension) -> u64 {
        let state = self.state.lock();
        let acquisition = state.acquisition.seats();
        state.extension_proof.counts(acquisition, extension.voters)
    }

    /// Puts the keys back where the last extensions found them gone: at a node that restarted, or that
    /// was down during the acquisition. Call it only once an extension is a proof, so that no other
    /// client can hold the lock.
    pub(crate) fn restore(&self, ttl: Duration) {
        let round = Round::new(self.nodes.len(), Goal::All);
        let seats = {
            let mut state = self.state.lock();
            let acquisition = state.acquisition.seats();
            let seats = state.extension_proof.restorable(acquisition);
            if state.ending.is_some() || seats == 0 {
                return;
            }
            state.extension_proof.restored(Arc::clone(&round), seats);
            state.restoring += 1;
            seats
        };
        let operation = Arc::new(self.operation(Want::Restore { ttl }));
        // No caller waits for the round: the keys count from a later extension on, if they are there by
        // then.
        round.submit(&self.nodes, &operation, |seat| seats & bit(seat) != 0);
        // The claim may have ended meanwhile, and its end may be ahead of what was put back.
        let is_late = {
            let mut state = self.state.lock();
            state.restoring -= 1;
            state.ending == Some(ClaimEnd::Released) && state.restoring == 0
        };
        if is_late {
            self.send_release();
        }
    }

    /// True if a majority of the nodes still vouches for the last proof that the lock is ours. A node
    /// that may have forgotten the lock since does not vouch for it.
    pub(crate) fn is_vouched_for(&self) -> bool {
        seats_in(self.vouching()) >= majority(self.nodes.len())
    }

    /// The seats of the last proof that still vouch for it. Until an extension is a proof, the acquisition
    /// is: of its stragglers only those in time, as an extension counts them. Another holder may have come
    /// and gone before a later one.
    pub(crate) fn vouching(&self) -> u64 {
        let (proof, acquisition) = {
            let state = self.state.lock();
            (state.proof.clone(), state.acquisition.clone())
        };
        match proof {
            Some((round, counted)) => round.vouching_seats(&self.nodes) & counted,
            None => acquisition.vouching_seats(&self.nodes) & acquisition.seats().in_time,
        }
    }

    /// The longest time for which any node may keep the keys without hearing from us.
    pub(crate) fn longest_ttl(&self) -> Duration {
        Duration::from_millis(self.longest_ttl.load(Ordering::Relaxed))
    }

    fn operation(&self, want: Want) -> Operation {
        let counters = match want {
            Want::Confirm { .. } | Want::Extend { .. } => self.counters.clone(),
            _ => None,
        };
        let shared = self.shared().and_then(|it| it.part_of(want));
        Operation::new(self.keys.clone(), self.token.clone(), want)
            .with_counters(counters)
            .with_sharing(shared)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.release();
    }
}

/// Requests are checked to be below a year.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
