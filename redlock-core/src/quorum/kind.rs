//! Kinds of locks, as an attempt, a claim and a lease see them.

use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::AuxiliaryKeys;
use crate::node::{Call, Vote};

/// What the caller of one kind of lock asks of the nodes: made for one acquisition, with all its attempts.
pub(crate) trait Kind: Send + Sync {
    /// The keys of the lock.
    fn keys(&self) -> &Resource;

    /// Takes the lock. `hint` is the time in µs since 1970 by this host's clock.
    fn acquire(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call;

    /// Lets the keys live for `ttl` at least, if the token has them.
    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call;

    /// Puts the keys back that are gone.
    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call;

    /// Deletes the keys, if the token has them. They may live for `until`. `is_lease` is false if the attempt
    /// failed.
    fn release(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call;

    /// Raises the fencing counters to `counter`, if the token has the keys. `None` for a lock without a fencing
    /// token.
    fn confirm(&self, _token: &OwnerToken, _counter: u64, _ttl: Duration) -> Option<Call> {
        None
    }

    /// The fencing token for which the counters of a majority stand at `count`.
    fn token_at(&self, count: u64) -> u64 {
        // The counters stand one above the token, so that the next reader takes them as they are.
        count.saturating_sub(1)
    }

    /// Called before an attempt. `was_refused` says whether the nodes may have refused this caller, or another caller
    /// that was in line before it. `is_followed` says whether callers wait after it that were in line when the nodes
    /// last refused an attempt.
    fn attempts(&self, _was_refused: bool, _is_followed: bool) {}

    /// Takes back what refused attempts left on the nodes, if the last attempt `has_won` or if the caller gives up.
    /// `None` if there is nothing to take back.
    fn withdraw(&self, _has_won: bool) -> Option<Call> {
        None
    }

    /// The keys beside the lock's, which have to be in its hash slot.
    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        Vec::new()
    }

    /// What becomes of the caller's turn in its line once it has the lock.
    fn turn(&self) -> TurnRule {
        TurnRule::Keep
    }

    /// True if the lock can be acquired while others hold it. No node tells such holders from holders that are alone, so
    /// a refused caller asks again once the keys have changed.
    fn is_shared(&self) -> bool {
        false
    }

    /// The keys that name the line of callers who wait for the same.
    fn line(&self) -> &Resource {
        self.keys()
    }

    /// The number of locks that are alike, if there are several. A grant then names the lock that is ours.
    fn count(&self) -> Option<u16> {
        None
    }

    /// The number of the lock among those that are alike, once one was chosen.
    fn number(&self) -> Option<u16> {
        None
    }

    /// The lock at `place` of the keys of the acquisition with `token`.
    fn chosen(&self, _token: &OwnerToken, _place: u16) -> Option<Arc<dyn Kind>> {
        None
    }

    /// The sets of keys for which a refused caller waits: one of them has to come free at a majority.
    fn watched(&self) -> Vec<Resource> {
        vec![self.keys().clone()]
    }

    /// The largest number of nodes that one holder may have by the votes against an attempt.
    fn most_against(&self, votes: &[Option<Vote>]) -> usize {
        super::votes::most_of_one_holder(votes)
    }
}

/// See [`Kind::turn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnRule {
    /// The lease keeps it. The next caller gets the lock from the lease, if it may.
    HandOver,
    /// The lease keeps it.
    Keep,
    /// The next caller asks the nodes at once: it may get the same, or another one.
    PassOn,
}
