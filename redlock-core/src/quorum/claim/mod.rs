//! The keys of one attempt on the nodes, and their removal.

mod choice;

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::io_thread::share_woken_tasks;
use crate::env::{Clock, Moment};
use crate::model::token::OwnerToken;
use crate::node::{Call, NodeSet};
use choice::{ChoiceVotes, Unheard};

use super::extension_proof::{ExtensionProof, ProofState, Voters};
use super::kind::Kind;
use super::majority;
use super::round::{Goal, Round, bit, seats_in, submit_each};

/// One owner token on a set of nodes, from the sending of the acquisition to the sending of its
/// release. Dropping it sends the release, so no way out of an attempt or a lease forgets the nodes.
pub(crate) struct Claim {
    pub(crate) nodes: NodeSet,
    pub(crate) kind: Arc<dyn Kind>,
    pub(crate) token: OwnerToken,
    /// The acquisition.
    pub(crate) call: Arc<Call>,
    part: Part,
    /// True once the attempt has won.
    is_lease: AtomicBool,
    /// The longest time in ms for which any node may keep the keys without hearing from us.
    longest_ttl: AtomicU64,
    state: Mutex<ClaimState>,
}

/// The locks that the claim is on, of several equal ones.
enum Part {
    /// There is one lock only.
    Whole,
    /// Any of them, with the receiver of the votes of the acquisition.
    Any(Arc<ChoiceVotes>),
    /// The lock that the attempt won.
    One(Unheard),
}

struct ClaimState {
    /// The votes of the acquisition.
    acquisition: Arc<Round>,
    /// True if the release was sent, or if a claim on some of the keys took the place of this one.
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
        seats_in(self.state.lock().acquisition.seats().granted)
    }

    /// Sends the acquisition to all nodes at once, and returns its votes too. If a grant comes after
    /// `in_time` and the lease is made already, the grant proves nothing yet. The claim on one of several locks is
    /// on all of them until it is [narrowed](Self::narrow), because each node decides which one it grants.
    pub(crate) fn acquire(
        nodes: &NodeSet,
        kind: Arc<dyn Kind>,
        token: OwnerToken,
        ttl: Duration,
        in_time: (Arc<dyn Clock>, Moment),
        hint: u64,
    ) -> (Arc<Self>, Arc<Round>) {
        let call = Arc::new(kind.acquire(&token, ttl, hint));
        let acquisition = Round::with_time(nodes.len(), Goal::Majority, Some(in_time));
        let part = if kind.count().is_some() {
            let votes = Arc::new(ChoiceVotes::new(&acquisition));
            submit_each(nodes, &votes, |_| Some(Arc::clone(&call)));
            Part::Any(votes)
        } else {
            submit_each(nodes, &acquisition, |_| Some(Arc::clone(&call)));
            Part::Whole
        };
        let claim = Self::sent(nodes, kind, token, ttl, (call, &acquisition), part);
        (Arc::new(claim), acquisition)
    }

    /// The claim of an acquisition that was sent.
    fn sent(
        nodes: &NodeSet,
        kind: Arc<dyn Kind>,
        token: OwnerToken,
        ttl: Duration,
        (call, acquisition): (Arc<Call>, &Arc<Round>),
        part: Part,
    ) -> Self {
        Self {
            nodes: Arc::clone(nodes),
            kind,
            token,
            call,
            part,
            is_lease: AtomicBool::new(false),
            longest_ttl: AtomicU64::new(millis(ttl)),
            state: Mutex::new(ClaimState {
                acquisition: Arc::clone(acquisition),
                has_ended: false,
                restoring: 0,
                extension_proof: ExtensionProof::default(),
                proof: None,
            }),
        }
    }

    /// Records that the attempt has won.
    pub(crate) fn has_won(&self) {
        self.is_lease.store(true, Ordering::Release);
    }

    /// Raises the counters at `seats` to `counter`. The other seats count as answered.
    pub(crate) fn confirm(&self, counter: u64, seats: &[usize]) -> Arc<Round> {
        let call = self.kind.confirm(&self.token, counter, self.longest_ttl());
        let call = call.map(Arc::new);
        let round = Round::new(self.nodes.len(), Goal::All);
        submit_each(&self.nodes, &round, |seat| {
            call.clone().filter(|_| seats.contains(&seat))
        });
        round
    }

    /// Sends an extension to all nodes.
    pub(crate) fn extend(&self, ttl: Duration) -> Extension {
        self.longest_ttl.fetch_max(millis(ttl), Ordering::Relaxed);
        let voters = {
            let mut state = self.state.lock();
            let acquisition = state.acquisition.seats();
            state.extension_proof.voters(acquisition)
        };
        let call = Arc::new(self.kind.extend(&self.token, ttl));
        let goal = Goal::MajorityOf(voters.continuous);
        let round = Round::start(&self.nodes, &call, goal);
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
            if state.has_ended || seats == 0 {
                return;
            }
            state.extension_proof.restored(Arc::clone(&round), seats);
            state.restoring += 1;
            seats
        };
        let call = Arc::new(self.kind.restore(&self.token, ttl));
        // No caller waits for the round: the keys count from a later extension on, if they are there by
        // then.
        submit_each(&self.nodes, &round, |seat| {
            (seats & bit(seat) != 0).then(|| Arc::clone(&call))
        });
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

    /// Sends the release to every node that the acquisition may have reached, after the acquisition on
    /// the same connection. The node's answer makes no difference. Only the first call sends it.
    pub(crate) fn release(&self) -> Option<Arc<Round>> {
        // The acquisition of a claim that was narrowed goes on in the new claim.
        let has_ended = mem::replace(&mut self.state.lock().has_ended, true);
        (!has_ended).then(|| self.send_release())
    }

    fn send_release(&self) -> Arc<Round> {
        let release = Arc::new(self.release_of(&*self.kind, None));
        let unheard = self.unheard_release();
        self.send_to(u64::MAX, Goal::FreeOfUs, |at| match &unheard {
            Some((all, seats)) if seats & at != 0 => Arc::clone(all),
            _ => Arc::clone(&release),
        })
    }

    /// Sends what ends the claim, or a part of it, to those of `wanted` that the acquisition may have
    /// reached.
    fn send_to(&self, wanted: u64, goal: Goal, call: impl Fn(u64) -> Arc<Call>) -> Arc<Round> {
        let seats = {
            let state = self.state.lock();
            // The acquisition may never have reached a node where the key was put back.
            (state.extension_proof.restored_seats() | state.acquisition.seats().reached) & wanted
        };
        let round = Round::new(self.nodes.len(), goal);
        submit_each(&self.nodes, &round, |seat| {
            let at = bit(seat);
            (seats & at != 0).then(|| call(at))
        });
        round
    }

    /// The release of `kind`, except for what `but` has.
    fn release_of(&self, kind: &dyn Kind, but: Option<&dyn Kind>) -> Call {
        let is_lease = self.is_lease.load(Ordering::Acquire);
        let release = kind.release(&self.token, self.longest_ttl(), is_lease);
        match but {
            Some(but) => release.without(but.keys()),
            None => release,
        }
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
