//! The calls and rules of one kind of lock, for attempts, claims and leases.

use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::AuxiliaryKeys;
use crate::node::{Call, Vote};

/// Builds the calls of one kind of lock. An acquisition uses one protocol for all its attempts.
pub(crate) trait LockProtocol: Send + Sync {
    /// Returns the keys of the lock.
    fn keys(&self) -> &Resource;

    /// Returns the call that acquires the lock. `hint` is the time in µs since 1970 by this host's clock.
    fn acquire_call(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call;

    /// Returns the call that extends the token's keys to at least `ttl`.
    fn extend_call(&self, token: &OwnerToken, ttl: Duration) -> Call;

    /// Returns the call that restores missing keys.
    fn restore_call(&self, token: &OwnerToken, ttl: Duration) -> Call;

    /// Returns the call that deletes the keys, if they hold the token. `until` is the longest time for which the keys
    /// may live. `is_lease` is false after a failed attempt.
    fn release_call(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call;

    /// Returns the call that tells a node without our permit that other nodes granted one, if the client waited.
    fn served_call(&self) -> Option<Call> {
        None
    }

    /// Returns the call that raises the fencing counters to `counter`, if the token has the keys. Returns `None` for a
    /// lock without a fencing token.
    fn confirm_call(&self, _token: &OwnerToken, _counter: u64, _ttl: Duration) -> Option<Call> {
        None
    }

    /// Returns the call that removes the marks of refused attempts, if marks have to go. A mark `is_kept` if the last
    /// attempt won, or if other refused callers of the line need the mark.
    fn withdraw_call(&self, _is_kept: bool) -> Option<Call> {
        None
    }

    /// Passes the caller's place in its line to the protocol, before each attempt.
    fn prepare_attempt(&self, _place: LinePlace) {}

    /// Returns the auxiliary keys of the lock. Auxiliary keys have to be in the lock's hash slot.
    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        Vec::new()
    }

    /// Returns the rule for the turn of a caller that has the lock.
    fn turn_rule(&self) -> TurnRule {
        TurnRule::Keep
    }

    /// True if several callers can hold the lock at once. A node's answer is the same for one holder and for several,
    /// so a refused caller asks again once the keys have changed.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the keys that identify the line of callers waiting for the same lock.
    fn line_keys(&self) -> &Resource {
        self.keys()
    }

    /// Returns the number of permits, if the lock may be any of several permits. Each grant then names its permit.
    fn permits(&self) -> Option<u16> {
        None
    }

    /// Returns the number of the permit, once a permit was chosen.
    fn permit(&self) -> Option<u16> {
        None
    }

    /// Returns the lock on a single permit. `place` is its place in the order of keys that follows from `token`.
    fn choose_permit(&self, _token: &OwnerToken, _place: u16) -> Option<Arc<dyn LockProtocol>> {
        None
    }

    /// Returns the sets of keys for which a refused caller waits. The caller tries again once a majority is free of one
    /// set.
    fn watched_keys(&self) -> Vec<Resource> {
        vec![self.keys().clone()]
    }

    /// Returns the most nodes that a single other holder may have, by the votes.
    fn most_rival_votes(&self, votes: &[Option<Vote>]) -> usize {
        super::votes::most_of_one_holder(votes)
    }
}

/// The place of a caller in its line, for the order at the nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinePlace {
    /// True if the nodes refused this caller, or one ahead of it while this caller waited.
    pub(crate) was_refused: bool,
    /// True if other refused callers wait after this one. Those callers were in the line when the nodes last refused an
    /// attempt.
    pub(crate) is_followed_by_refused: bool,
    /// True if the process just released a permit and may take it again within its streak.
    pub(crate) is_in_streak: bool,
    /// The number of permits that the callers of the line hold.
    pub(crate) permits_held: usize,
}

/// The rule for a caller's turn once it has the lock: see [`LockProtocol::turn_rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnRule {
    /// The lease keeps the turn. The next caller may get the lock directly from the lease.
    HandOver,
    /// The lease keeps the turn until it ends, and then the next caller asks the nodes.
    Keep,
    /// The turn is passed on at once. The next caller asks the nodes, and may get the same lock or another one.
    PassOn,
}
