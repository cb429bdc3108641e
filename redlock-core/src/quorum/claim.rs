//! Claims: the keys that one attempt has on the nodes, and their removal.
#![doc = include_str!("what_counts.md")]

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::Moment;
use crate::io_thread::share_woken_tasks;
use crate::model::token::OwnerToken;
use crate::node::{Call, NodeSet, bit};

use super::extension_proof::{ExtensionProof, ProofState, Voters};
use super::lock_protocol::LockProtocol;
use super::majority;
use super::round::{Goal, Round, seats_in};

/// The keys of one owner token on a set of nodes, until their release. The claim begins by sending the acquisition.
/// Dropping it sends the release, so every way out of an attempt or a lease cleans up the nodes.
///
/// A claim on any of several permits covers all of them until [one is chosen](Self::narrow_to_permit), because each
/// node decides which one it grants.
pub(crate) struct Claim {
    pub(crate) nodes: NodeSet,
    pub(crate) protocol: Arc<dyn LockProtocol>,
    pub(crate) token: OwnerToken,
    /// True once the attempt has won.
    is_lease: bool,
    /// The longest ttl of the keys so far, in ms. A node may keep the keys for that long without a further message.
    longest_ttl: AtomicU64,
    /// The votes of the acquisition.
    pub(crate) acquisition: Arc<Round>,
    state: Mutex<ClaimState>,
}

#[derive(Default)]
struct ClaimState {
    /// True once the release was sent.
    has_ended: bool,
    /// The number of callers that are restoring keys. If the release is sent in the meantime, the last of these callers
    /// removes the keys again.
    restoring: u32,
    /// Decides which nodes an extension may count.
    extension_proof: ExtensionProof,
}

/// An extension that was sent.
pub(crate) struct Extension {
    pub(crate) round: Arc<Round>,
    pub(crate) ttl: Duration,
    /// The moment at which the extension began, read before the first message was sent.
    pub(crate) sent_at: Moment,
    voters: Voters,
}

impl Claim {
    /// Returns the number of nodes that have granted the acquisition.
    pub(crate) fn votes(&self) -> usize {
        seats_in(self.acquisition.seats().granted)
    }

    /// Sends the acquisition to all nodes at once.
    pub(crate) fn acquire(
        nodes: &NodeSet,
        protocol: Arc<dyn LockProtocol>,
        token: OwnerToken,
        ttl: Duration,
        hint: u64,
    ) -> Self {
        let call = protocol.acquire_call(&token, ttl, hint);
        Self {
            nodes: Arc::clone(nodes),
            protocol,
            token,
            is_lease: false,
            longest_ttl: AtomicU64::new(millis(ttl)),
            acquisition: Round::start(nodes, call, Goal::Majority),
            state: Mutex::default(),
        }
    }

    /// Narrows this claim to the permit that a majority granted, and releases the other permits. The release of the
    /// others follows the acquisition to every node that is not known to have granted the chosen permit. Returns false
    /// if no majority granted the same permit.
    pub(crate) fn narrow_to_permit(&mut self) -> bool {
        if !self.acquisition.tally().is_won() {
            return false;
        }
        let choice = self.acquisition.choice();
        let Some(chosen) = choice.and_then(|place| self.protocol.choose_permit(&self.token, place))
        else {
            return false;
        };
        let until = self.longest_ttl();
        let release = self.protocol.release_call(&self.token, until, false);
        // A node that granted the chosen permit is free of our other keys.
        let others = !self.acquisition.seats().granted;
        self.send_to(others, release.without(chosen.keys()), Goal::All);
        let served = self.protocol.served_call();
        served.map(|served| self.send_to(others, served, Goal::All));
        self.protocol = chosen;
        true
    }

    /// Turns this into the claim of a lease, once its attempt has won.
    pub(crate) fn into_lease(mut self) -> Arc<Self> {
        self.is_lease = true;
        Arc::new(self)
    }

    /// Raises the counters at `seats` to `counter`. The other seats count as answered. Returns `None` for a lock
    /// without a fencing token.
    pub(crate) fn raise_counters(&self, counter: u64, seats: &[usize]) -> Option<Arc<Round>> {
        let call = self
            .protocol
            .confirm_call(&self.token, counter, self.longest_ttl())?;
        let round = Round::new(self.nodes.len(), call, Goal::All);
        let seats = seats.iter().fold(0, |seats, seat| seats | bit(*seat));
        round.send(&self.nodes, seats);
        Some(round)
    }

    /// Sends an extension to all nodes. `now` is a moment that was read before this call.
    pub(crate) fn send_extension(&self, ttl: Duration, now: Moment) -> Extension {
        self.longest_ttl.fetch_max(millis(ttl), Ordering::Relaxed);
        let acquisition = self.acquisition.seats();
        let voters = self.state.lock().extension_proof.voters(acquisition);
        let call = self.protocol.extend_call(&self.token, ttl);
        let goal = Goal::MajorityOf(voters.continuous);
        Extension {
            round: Round::start(&self.nodes, call, goal),
            ttl,
            sent_at: now,
            voters,
        }
    }

    /// Judges the votes of an extension.
    pub(crate) fn judge(&self, extension: &Extension) -> ProofState {
        let round = &extension.round;
        let granted = round.vouching_seats(&self.nodes);
        let acquisition = self.acquisition.seats();
        let proof = &mut self.state.lock().extension_proof;
        proof.judge(acquisition, extension.voters, round, granted)
    }

    /// Returns the seats whose grants of an extension count.
    pub(crate) fn counted_seats(&self, extension: &Extension) -> u64 {
        let acquisition = self.acquisition.seats();
        let proof = &self.state.lock().extension_proof;
        proof.counted_seats(acquisition, extension.voters)
    }

    /// Restores the keys on nodes where the last extensions found them missing. The nodes restarted, or were down
    /// during the acquisition. Call this only after a proof, because then no other client can hold the lock.
    pub(crate) fn restore(&self, ttl: Duration) {
        let (round, seats) = {
            let mut state = self.state.lock();
            let acquisition = self.acquisition.seats();
            let seats = state.extension_proof.restorable_seats(acquisition);
            if state.has_ended || seats == 0 {
                return;
            }
            let call = self.protocol.restore_call(&self.token, ttl);
            let round = Round::new(self.nodes.len(), call, Goal::All);
            let added = Arc::clone(&round);
            state.extension_proof.add_restoration(added, seats);
            state.restoring += 1;
            (round, seats)
        };
        // Do not wait for this round: a later extension counts the keys if it finds them.
        round.send(&self.nodes, seats);
        // Release again if the claim has ended: its release may have overtaken the restored key.
        let is_late = {
            let mut state = self.state.lock();
            state.restoring -= 1;
            state.has_ended && state.restoring == 0
        };
        if is_late {
            self.send_release();
        }
    }

    /// True if a majority still vouches for the last proof that the lock is ours. A node that may have forgotten the
    /// lock since then does not vouch for it.
    pub(crate) fn is_vouched_for(&self) -> bool {
        seats_in(self.vouching_seats()) >= majority(self.nodes.len())
    }

    /// Returns the seats of the last proof that still vouch for it. Before the first proved extension, the grants of
    /// the acquisition are the proof. Late grants do not count, because another holder may have come and gone before
    /// them.
    pub(crate) fn vouching_seats(&self) -> u64 {
        let state = self.state.lock();
        match &state.extension_proof.last_proof {
            Some(proof) => proof.round.vouching_seats(&self.nodes) & proof.counted,
            None => self.acquisition.vouching_seats(&self.nodes) & self.acquisition.seats().in_time,
        }
    }

    /// Returns the longest ttl of the keys so far. A node may keep the keys for that long without a further message.
    pub(crate) fn longest_ttl(&self) -> Duration {
        Duration::from_millis(self.longest_ttl.load(Ordering::Relaxed))
    }

    /// Sends the release to every node that the acquisition may have reached. Each connection delivers the release
    /// after the acquisition. The node's answer to the acquisition makes no difference, except if it refused each of
    /// several permits. That node took no permit, and the release would look at as many keys as the acquisition. Only
    /// the first call sends the release.
    pub(crate) fn release(&self) -> Option<Arc<Round>> {
        let has_ended = mem::replace(&mut self.state.lock().has_ended, true);
        (!has_ended).then(|| self.send_release())
    }

    fn send_release(&self) -> Arc<Round> {
        let release = self
            .protocol
            .release_call(&self.token, self.longest_ttl(), self.is_lease);
        let is_of_any_permit = self.protocol.permits().is_some();
        let without_key = is_of_any_permit.then(|| self.acquisition.seats().held);
        self.send_to(!without_key.unwrap_or(0), release, Goal::MajorityAnswered)
    }

    /// Sends a release to those of `seats` that may have our key. The acquisition may have reached them, or a key was
    /// restored there.
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
            // The release woke a driver, which tokio keeps in this worker's LIFO slot. An empty task takes the slot, so
            // that another worker can run the driver if the caller blocks this one.
            share_woken_tasks();
        }
    }
}

/// Returns `ttl` in ms. The number fits, because a ttl is at most a year.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}
