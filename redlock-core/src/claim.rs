//! What one attempt put on the nodes, and its removal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::client::NodeSet;
use crate::operation::{Operation, Want};
use crate::quorum::majority;
use crate::resource::Resource;
use crate::round::{Goal, Round, bit};
use crate::token::OwnerToken;

/// One owner token on a set of nodes: from the moment that the acquisition is sent until its
/// release is. Dropping it sends the release, so there is no way out of an attempt or a lease that
/// forgets the nodes.
pub(crate) struct Claim {
    pub(crate) nodes: NodeSet,
    pub(crate) keys: Resource,
    pub(crate) token: OwnerToken,
    /// The keys of the fencing counters, where a fencing token is wanted.
    counters: Option<Resource>,
    /// The acquisition's votes. Stragglers are still being counted in here.
    acquisition: Arc<Round>,
    /// The longest time in ms that any node may keep the keys without hearing from us.
    longest_ttl: AtomicU64,
    state: Mutex<State>,
}

struct State {
    ending: Option<Ending>,
    /// How many callers are just putting keys back. The last of them cleans up behind itself where
    /// the release went out meanwhile.
    restoring: usize,
    /// The seats that the keys were put back at, which the acquisition may never have reached.
    restored: u64,
    /// The last round in which a majority proved that the lock is ours: an extension, where there
    /// was one since the acquisition.
    proof: Option<Arc<Round>>,
}

/// How a claim ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The release was sent.
    Released,
    /// The keys are left to their ttl.
    Abandoned,
}

impl Claim {
    /// Sends the acquisition to all nodes at once. With `counters`, `hint` is where they should
    /// stand at least.
    pub(crate) fn stake(
        nodes: &NodeSet,
        keys: Resource,
        token: OwnerToken,
        ttl: Duration,
        counters: Option<(Resource, u64)>,
    ) -> Self {
        let (counters, hint) = counters.map_or((None, 0), |(keys, hint)| (Some(keys), hint));
        let want = Want::Acquire { ttl, hint };
        let operation =
            Operation::new(keys.clone(), token.clone(), want).with_counters(counters.clone());
        let acquisition = Round::start(nodes, &Arc::new(operation), Goal::Majority, |_| true);
        Self {
            nodes: Arc::clone(nodes),
            keys,
            token,
            counters,
            acquisition,
            longest_ttl: AtomicU64::new(millis(ttl)),
            state: Mutex::new(State {
                ending: None,
                restoring: 0,
                restored: 0,
                proof: None,
            }),
        }
    }

    pub(crate) fn acquisition(&self) -> &Round {
        &self.acquisition
    }

    /// Lifts the counters at `seats` to the fencing token. The others count as answered.
    pub(crate) fn confirm(&self, counter: u64, seats: &[usize]) -> Arc<Round> {
        let operation = self.operation(Want::Confirm {
            counter,
            ttl: Duration::from_millis(self.longest_ttl.load(Ordering::Relaxed)),
        });
        let is_wanted = |seat| seats.contains(&seat);
        Round::start(&self.nodes, &Arc::new(operation), Goal::All, is_wanted)
    }

    /// Sends an extension to all nodes.
    pub(crate) fn extend(&self, ttl: Duration) -> Arc<Round> {
        self.longest_ttl.fetch_max(millis(ttl), Ordering::Relaxed);
        let operation = self.operation(Want::Extend { ttl });
        Round::start(&self.nodes, &Arc::new(operation), Goal::Majority, |_| true)
    }

    /// Puts the keys back where the extension `proof` found them gone: the node restarted, or was
    /// not there when the lock was acquired. Only to be called once a majority granted the
    /// extension, so that the lock is known to be nobody else's.
    pub(crate) fn restore(&self, proof: Arc<Round>, ttl: Duration) {
        let absent = proof.absent_seats();
        {
            let mut state = self.lock();
            state.proof = Some(proof);
            if state.ending.is_some() || absent == 0 {
                return;
            }
            state.restoring += 1;
            state.restored |= absent;
        }
        let operation = self.operation(Want::Restore { ttl });
        let is_wanted = |seat| absent & bit(seat) != 0;
        // Nobody waits for it: it counts from the next extension on, if it is there by then.
        Round::start(&self.nodes, &Arc::new(operation), Goal::All, is_wanted);
        let is_late = {
            let mut state = self.lock();
            state.restoring -= 1;
            state.ending == Some(Ending::Released) && state.restoring == 0
        };
        if is_late {
            self.send_release();
        }
    }

    /// Whether a majority of the nodes still vouches for the last proof that the lock is ours: a
    /// node that may have forgotten it since does not.
    pub(crate) fn is_vouched_for(&self) -> bool {
        let proof = self.lock().proof.clone();
        let proof = proof.as_deref().unwrap_or(&self.acquisition);
        self.is_majority_of(proof)
    }

    /// Whether a majority granted `round` and has not begun a new epoch since.
    pub(crate) fn is_majority_of(&self, round: &Round) -> bool {
        round.vouched(&self.nodes) >= majority(self.nodes.len())
    }

    /// Sends the release to every node that the acquisition may have reached, whatever it
    /// answered, behind it on the same connection. Only the first call sends anything.
    pub(crate) fn release(&self) -> Option<Arc<Round>> {
        self.end(Ending::Released).then(|| self.send_release())
    }

    /// Leaves the keys to their ttl: nothing is sent, now or later.
    pub(crate) fn abandon(&self) {
        self.end(Ending::Abandoned);
    }

    /// Whether it had not ended before.
    fn end(&self, ending: Ending) -> bool {
        let mut state = self.lock();
        let is_first = state.ending.is_none();
        state.ending.get_or_insert(ending);
        is_first
    }

    fn send_release(&self) -> Arc<Round> {
        let want = Want::Release {
            ttl: Duration::from_millis(self.longest_ttl.load(Ordering::Relaxed)),
        };
        let restored = self.lock().restored;
        let reached = |seat| restored & bit(seat) != 0 || self.acquisition.may_have_reached(seat);
        let operation = Arc::new(self.operation(want));
        Round::start(&self.nodes, &operation, Goal::FreeOfUs, reached)
    }

    fn operation(&self, want: Want) -> Operation {
        let counters = match want {
            Want::Confirm { .. } => self.counters.clone(),
            _ => None,
        };
        Operation::new(self.keys.clone(), self.token.clone(), want).with_counters(counters)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
