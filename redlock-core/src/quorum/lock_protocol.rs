//! The calls and rules of one kind of lock, as an attempt, a claim and a lease use them.

use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::AuxiliaryKeys;
use crate::node::{Call, Vote};

/// Makes the calls of one kind of lock. One acquisition has one, for all its attempts.
pub(crate) trait LockProtocol: Send + Sync {
    /// Returns the keys of the lock.
    fn keys(&self) -> &Resource;

    /// Returns the call that takes the lock. `hint` is the time in µs since 1970 by this host's clock.
    fn acquire_call(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call;

    /// Returns the call that lets the keys live for `ttl` at least, if the token has them.
    fn extend_call(&self, token: &OwnerToken, ttl: Duration) -> Call;

    /// Returns the call that puts missing keys back.
    fn restore_call(&self, token: &OwnerToken, ttl: Duration) -> Call;

    /// Returns the call that deletes the keys, if the token has them. They may live for `until`. `is_lease` is
    /// false if the attempt failed.
    fn release_call(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call;

    /// Returns the call that tells a node which did not grant a permit that the client has one. `None` if the client
    /// did not wait.
    fn served_call(&self) -> Option<Call> {
        None
    }

    /// Returns the call that raises the fencing counters to `counter`, if the token has the keys. `None` for a lock
    /// without a fencing token.
    fn confirm_call(&self, _token: &OwnerToken, _counter: u64, _ttl: Duration) -> Option<Call> {
        None
    }

    /// Returns the call that takes back the marks of refused attempts. A mark `is_kept` if the last attempt won, or if
    /// other refused callers of the line need it. `None` if no mark has to go.
    fn withdraw_call(&self, _is_kept: bool) -> Option<Call> {
        None
    }

    /// Tells the protocol the caller's place in its line, before each attempt.
    fn prepare_attempt(&self, _place: LinePlace) {}

    /// Returns the fencing token that follows from the counters of a majority.
    fn fencing_token_at(&self, count: u64) -> u64 {
        // The counters stand one above the token, so that the next reader takes them as they are.
        count.saturating_sub(1)
    }

    /// Returns the keys next to the lock's, which have to be in its hash slot.
    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        Vec::new()
    }

    /// Returns the rule for the caller's turn in its line, once it has the lock.
    fn turn_rule(&self) -> TurnRule {
        TurnRule::Keep
    }

    /// True if the lock can be acquired while others hold it. A node answers the same for one holder and for several,
    /// so a refused caller asks again once the keys have changed.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the keys that name the line of callers who wait for the same lock.
    fn line_keys(&self) -> &Resource {
        self.keys()
    }

    /// Returns the number of permits, if the lock is any of several. Each grant says which permit it is.
    fn permits(&self) -> Option<u16> {
        None
    }

    /// Returns the number of the permit, once one was chosen.
    fn permit(&self) -> Option<u16> {
        None
    }

    /// Returns the lock on one permit. Its `place` is that in the order of keys which follows from `token`.
    fn choose_permit(&self, _token: &OwnerToken, _place: u16) -> Option<Arc<dyn LockProtocol>> {
        None
    }

    /// Returns the sets of keys for which a refused caller waits. One set has to come free at a majority.
    fn watched_keys(&self) -> Vec<Resource> {
        vec![self.keys().clone()]
    }

    /// Returns the most nodes that a single other holder may have, by the votes of an attempt.
    fn most_rival_votes(&self, votes: &[Option<Vote>]) -> usize {
        super::votes::most_of_one_holder(votes)
    }
}

/// The place of an attempt's caller in its line, as far as it decides who goes first at the nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinePlace {
    /// True if the nodes refused this caller, or somebody ahead of it while it was in line.
    pub(crate) was_refused: bool,
    /// True if callers wait after it that were in line when the nodes last refused an attempt.
    pub(crate) is_followed_by_refused: bool,
    /// True if the process has just released a permit and may have it again, because its streak is not spent.
    pub(crate) is_in_streak: bool,
    /// The number of permits that the callers of the line hold.
    pub(crate) permits_held: usize,
}

/// The rule for a caller's turn once it has the lock: see [`LockProtocol::turn_rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnRule {
    /// The lease keeps it. The next caller gets the lock from the lease, if it may.
    HandOver,
    /// The lease keeps it.
    Keep,
    /// The next caller asks the nodes at once: it may get the same lock, or another one.
    PassOn,
}
