//! The keys of one attempt on the nodes, and their removal.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::io_thread::share_woken_tasks;
use crate::model::token::OwnerToken;
use crate::node::{Call, NodeSet, bit};

use super::extension_proof::{ExtensionProof, ProofState, Voters};
use super::lock_protocol::LockProtocol;
use super::majority;
use super::round::{Goal, Round, seats_in};

/// One owner token on a set of nodes, from the sending of the acquisition to the sending of its
/// release. Dropping it sends the release, so no way out of an attempt or a lease forgets the nodes.
///
/// The claim on any of several equal locks is on all of them until it is [narrowed](Self::narrow), because each node
/// decides which one it grants.
pub(crate) struct Claim {
    pub(crate) nodes: NodeSet,
    pub(crate) protocol: Arc<dyn LockProtocol>,
    pub(crate) token: OwnerToken,
    /// True once the attempt has won.
    is_lease: bool,
    /// The longest time in ms for which any node may keep the keys without hearing from us.
    longest_ttl: AtomicU64,
    /// The votes of the acquisition.
    acquisition: Arc<Round>,
    state: Mutex<ClaimState>,
}

#[derive(Default)]
struct ClaimState {
    /// True if the release was sent.
    has_ended: bool,
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
        seats_in(self.acquisition.seats().granted)
    }

    /// Sends the acquisition to all nodes at once, and returns its votes too.
    pub(crate) fn acquire(
        nodes: &NodeSet,
        protocol: Arc<dyn LockProtocol>,
        token: OwnerToken,
        ttl: Duration,
        hint: u64,
    ) -> (Self, Arc<Round>) {
        let call = protocol.acquire_call(&token, ttl, hint);
        let acquisition = Round::start(nodes, call, Goal::Majority);
        let claim = Self {
            nodes: Arc::clone(nodes),
            protocol,
            token,
            is_lease: false,
            longest_ttl: AtomicU64::new(millis(ttl)),
            acquisition: Arc::clone(&acquisition),
            state: Mutex::default(),
        };
        (claim, acquisition)
    }

    /// Makes this the claim on the one of several locks that a majority granted. The release of the others goes after
    /// the acquisition to every node that is not known to have granted this one. False if no majority granted the same
    /// one.
    pub(crate) fn narrow(&mut self) -> bool {
        if !self.acquisition.tally().is_won() {
            return false;
        }
        let choice = self.acquisition.choice();
        let Some(chosen) = choice.and_then(|place| self.protocol.choose_permit(&self.token, place))
        else {
            return false;
        };
        let release = self
            .protocol
            .release_call(&self.token, self.longest_ttl(), self.is_lease);
        // A node that granted this lock has no other of ours.
        let others = !self.acquisition.seats().granted;
        self.send_to(others, release.without(chosen.keys()), Goal::All);
        self.protocol = chosen;
        true
    }

    /// The claim of an attempt that has won.
    pub(crate) fn into_lease(mut self) -> Arc<Self> {
        self.is_lease = true;
        Arc::new(self)
    }

    /// Raises the counters at `seats` to `counter`. The other seats count as answered. `None` for a lock without a fencing
    /// token.
    pub(crate) fn confirm(&self, counter: u64, seats: &[usize]) -> Option<Arc<Round>> {
        let call = self
            .protocol
            .confirm_call(&self.token, counter, self.longest_ttl())?;
        let round = Round::new(self.nodes.len(), call, Goal::All);
        let seats = seats.iter().fold(0, |seats, seat| seats | bit(*seat));
        round.send(&self.nodes, seats);
        Some(round)
    }

    /// Sends an extension to all nodes.
    pub(crate) fn extend(&self, ttl: Duration) -> Extension {
        self.longest_ttl.fetch_max(millis(ttl), Ordering::Relaxed);
        let acquisition = self.acquisition.seats();
        let voters = self.state.lock().extension_proof.voters(acquisition);
        let call = self.protocol.extend_call(&self.token, ttl);
        let goal = Goal::MajorityOf(voters.continuous);
        let round = Round::start(&self.nodes, call, goal);
        Extension { round, voters }
    }

    /// Judges the votes of an extension.
    pub(crate) fn judge(&self, extension: &Extension) -> ProofState {
        let round = &extension.round;
        let granted = round.vouching_seats(&self.nodes);
        let acquisition = self.acquisition.seats();
        let mut state = self.state.lock();
        let (outcome, counted) = state.extension_proof.judge(
            acquisition,
            extension.voters,
            self.nodes.len(),
            round,
            granted,
        );
        if outcome == ProofState::Proved {
            state.proof = Some((Arc::clone(round), counted));
        }
        outcome
    }

    /// The seats whose grants of an extension count.
    pub(crate) fn counts(&self, extension: &Extension) -> u64 {
        let acquisition = self.acquisition.seats();
        let proof = &self.state.lock().extension_proof;
        proof.counts(acquisition, extension.voters)
    }

    /// Puts the keys back where the last extensions found them gone: at a node that restarted, or that
    /// was down during the acquisition. Call it only once an extension is a proof, so that no other
    /// client can hold the lock.
    pub(crate) fn restore(&self, ttl: Duration) {
        let (round, seats) = {
            let mut state = self.state.lock();
            let acquisition = self.acquisition.seats();
            let seats = state.extension_proof.restorable(acquisition);
            if state.has_ended || seats == 0 {
                return;
            }
            let call = self.protocol.restore_call(&self.token, ttl);
            let round = Round::new(self.nodes.len(), call, Goal::All);
            state.extension_proof.restored(Arc::clone(&round), seats);
            state.restoring += 1;
            (round, seats)
        };
        // No caller waits for the round: the keys count from a later extension on, if they are there by
        // then.
        round.send(&self.nodes, seats);
        // The claim may have ended meanwhile, and its end may be ahead of what was put back.
        let is_late = {
            let mut state = self.state.lock();
            state.restoring -= 1;
            state.has_ended && state.restoring == 0
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
        let proof = self.state.lock().proof.clone();
        let acquisition = &self.acquisition;
        match proof {
            Some((round, counted)) => round.vouching_seats(&self.nodes) & counted,
            None => acquisition.vouching_seats(&self.nodes) & acquisition.seats().in_time,
        }
    }

    /// The longest time for which any node may keep the keys without hearing from us.
    pub(crate) fn longest_ttl(&self) -> Duration {
        Duration::from_millis(self.longest_ttl.load(Ordering::Relaxed))
    }

    /// Sends the release to every node that the acquisition may have reached, after the acquisition on
    /// the same connection. The node's answer makes no difference. Only the first call sends it.
    pub(crate) fn release(&self) -> Option<Arc<Round>> {
        let has_ended = mem::replace(&mut self.state.lock().has_ended, true);
        (!has_ended).then(|| self.send_release())
    }

    fn send_release(&self) -> Arc<Round> {
        let release = self
            .protocol
            .release_call(&self.token, self.longest_ttl(), self.is_lease);
        self.send_to(u64::MAX, release, Goal::FreeOfUs)
    }

    /// Sends a release to those of `seats` that the acquisition may have reached. It may never have reached a node
    /// where the key was put back.
    fn send_to(&self, seats: u64, release: Call, goal: Goal) -> Arc<Round> {
        let restored = self.state.lock().extension_proof.restored_seats();
        let reached = restored | self.acquisition.seats().reached;
        let round = Round::new(self.nodes.len(), release, goal);
        round.send(&self.nodes, seats & reached);
        round
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.release().is_some() {
            share_woken_tasks();
        }
    }
}

/// Requests are checked to be below a year.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}
