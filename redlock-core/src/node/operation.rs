//! The requests of a client to a node.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::model::resource::Resource;
use crate::model::run_record;
use crate::model::token::{self, OwnerToken};

use super::PermitKey;
use super::sharing::Sharing;

/// One request to all nodes of a lock: the keys, the token and the action.
///
/// It contains no command or script; each node chooses its own. It is made once for all
/// nodes of a round. A node's encoding of it is kept inside, so that the next node of the same kind
/// sends the same bytes.
pub struct Operation {
    keys: Resource,
    /// The keys of the fencing counters; `None` without a fencing token.
    counters: Option<Resource>,
    /// In an acquisition of a permit: the permits, in the order in which a node tries them.
    permits: Vec<PermitKey>,
    token: OwnerToken,
    /// In a forced release: the owner tokens that lose their keys.
    holders: Vec<Box<[u8]>>,
    /// What is about readers and writers; `None` for a lock that takes no part in that.
    sharing: Option<Box<Sharing>>,
    want: Want,
    /// One slot for each wire form of a Redis node; nodes of other kinds leave them empty.
    encoded: [OnceLock<Vec<u8>>; FORMS],
}

/// The number of wire forms in which an operation may be encoded.
pub(crate) const FORMS: usize = 4;

/// The most that an acquisition's hint may differ from a node's own clock.
///
/// The node limits a client's time to this window: one client's wrong clock must not push a counter so
/// far ahead that no other hint ever reaches it.
pub const HINT_WINDOW: Duration = Duration::from_secs(1);

/// The time for which an idle fencing counter is kept. After that the hint alone keeps the order: the
/// hint is the time, and no counter is further ahead of the time than [`HINT_WINDOW`]. A counter that
/// is ahead of its node's clock is kept until the clock has passed it, and for this time in addition.
pub const COUNTER_IDLE: Duration = Duration::from_secs(60 * 60);

/// The time for which a node keeps the counter of a lock: longer than the lock itself.
pub(crate) fn counter_ttl(ttl: Duration) -> Duration {
    COUNTER_IDLE.max(ttl.saturating_mul(2))
}

/// The action of an [`Operation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Want {
    /// Set all keys to our token for `ttl`, if no key exists. If the operation has counters, raise them to
    /// one number, and answer it. For a [reader](Operation::sharing) it is the highest of them or more, for any
    /// other holder two above all of them or more: the counters stand one above the holder's token.
    Acquire {
        /// The time for which the node keeps the keys unless they are released or extended.
        ttl: Duration,
        /// The least value of the counters: the time in µs since 1970. It is the same for all nodes, so
        /// that all of them answer the same number. See [`HINT_WINDOW`].
        hint: u64,
    },
    /// Set the key of the first free one of the operation's [permits](Operation::permits) to our token for
    /// `ttl`. A key of any type and with any value is not free. Answer in either case which permits were free.
    AcquirePermit {
        /// The time for which the node keeps the key unless it is released or extended.
        ttl: Duration,
    },
    /// Raise the counters to at least `counter`, if all keys hold our token. Only a node that does this
    /// counts towards a fencing token: a later holder's grant can predate a raise without this
    /// condition, and two holders would then have the same token.
    Confirm {
        /// The number at which the counters stand for this attempt's fencing token.
        counter: u64,
        /// The lock's ttl. The counters outlive it.
        ttl: Duration,
    },
    /// Let all keys live for at least `ttl` from now, if all hold our token. If the operation has counters, let
    /// them live for at least as long as an acquisition with this ttl does. Never shortens.
    Extend {
        /// The time to live, from the moment when the node serves the operation.
        ttl: Duration,
    },
    /// Set the missing keys to our token again for `ttl`, and let the others live for at least `ttl`, if no key
    /// holds another token. Send it only after an extension that a majority granted. Never changes a counter.
    Restore {
        /// The time for which the node keeps the keys.
        ttl: Duration,
    },
    /// Delete the keys that hold our token.
    Release {
        /// The time for which the node may keep the keys anyway. After that there is nothing to delete,
        /// and a release that could not be delivered is dropped.
        ttl: Duration,
    },
    /// Answer the remaining time of the key, for any holder. Of several keys, answer which is the first
    /// that exists, who has it, and its remaining time.
    Inspect,
    /// Set all keys to the [run record](Operation::run_record) for `ttl`, except for those that hold anything
    /// that expires later, but within `longest`. The keys are those of runs, never those of locks.
    Remember {
        /// When the run began: the time in ms since 1970.
        began: u64,
        /// The rest of the period, from the moment when the node serves the operation.
        ttl: Duration,
        /// The longest time for which a run of this period is remembered.
        longest: Duration,
    },
    /// Answer the run record that expires first, and its remaining time, as a key that is held. If a
    /// key is missing, never expires or is not a string, answer that there is none.
    Recall,
    /// Answer the value and the remaining time of the first key that exists, as a key that is held. The
    /// node changes nothing.
    Peek,
    /// Delete the keys that hold one of the operation's [holders](Operation::holders), and the entries of these
    /// readers. Answer who is on all keys afterwards, as [`Holders`](super::holders::Holders) writes it, as a key
    /// that is held; without anybody, that no key exists.
    ForceRelease,
}

impl Want {
    /// True if the node changes nothing for it.
    pub(crate) fn is_question(self) -> bool {
        matches!(self, Self::Inspect | Self::Recall | Self::Peek)
    }
}

impl Want {
    /// True for an acquisition, which sets keys that only its release deletes before their ttl.
    pub const fn is_acquisition(self) -> bool {
        matches!(self, Self::Acquire { .. } | Self::AcquirePermit { .. })
    }
}

impl Operation {
    /// An operation on all names of `keys`, with the configured prefix already in them.
    pub fn new(keys: Resource, token: OwnerToken, want: Want) -> Self {
        Self {
            keys,
            counters: None,
            permits: Vec::new(),
            token,
            holders: Vec::new(),
            sharing: None,
            want,
            encoded: [const { OnceLock::new() }; FORMS],
        }
    }

    /// The same operation with fencing counters at the keys `counters`.
    #[must_use]
    pub fn with_counters(mut self, counters: Option<Resource>) -> Self {
        self.counters = counters;
        self
    }

    /// The same acquisition of one of these permits, whose keys the operation has.
    #[must_use]
    pub fn with_permits(mut self, permits: Vec<PermitKey>) -> Self {
        self.permits = permits;
        self
    }

    /// The same forced release of what these owner tokens hold.
    #[must_use]
    pub fn with_holders(mut self, holders: Vec<Box<[u8]>>) -> Self {
        self.holders = holders;
        self
    }

    /// The owner tokens whose keys [`Want::ForceRelease`] deletes.
    pub fn holders(&self) -> &[Box<[u8]>] {
        &self.holders
    }

    /// The permits of which [`Want::AcquirePermit`] takes the first free one. The order is the same for all
    /// nodes of an attempt, so that nodes with the same free permits grant the same one.
    pub fn permits(&self) -> &[PermitKey] {
        &self.permits
    }

    /// The same operation of a reader, or the same acquisition or last release of a writer. It has one key.
    #[must_use]
    pub fn with_sharing(mut self, sharing: Option<Sharing>) -> Self {
        self.sharing = sharing.map(Box::new);
        self
    }

    /// What is about readers and writers; `None` for a lock that takes no part in that. On a node that does
    /// not heed it, readers exclude each other like writers.
    pub fn sharing(&self) -> Option<&Sharing> {
        self.sharing.as_deref()
    }

    /// The keys of the fencing counters, if a fencing token is asked for.
    pub fn counters(&self) -> Option<&Resource> {
        self.counters.as_ref()
    }

    /// The keys, in canonical order.
    pub fn keys(&self) -> &Resource {
        &self.keys
    }

    /// The owner token of this attempt.
    pub fn token(&self) -> &OwnerToken {
        &self.token
    }

    /// The action.
    pub fn want(&self) -> Want {
        self.want
    }

    /// The value by which nodes remember the run that [`Want::Remember`] is about. Empty for other
    /// actions.
    pub fn run_record(&self) -> Vec<u8> {
        match self.want {
            Want::Remember { began, .. } => {
                let owner = token::owner_of(self.token.as_bytes()).unwrap_or_default();
                run_record::written(owner, began).into_bytes()
            }
            _ => Vec::new(),
        }
    }

    /// The bytes of `form`, made by `encode` when the first node asks.
    pub(crate) fn encoded(&self, form: usize, encode: impl FnOnce(&Self) -> Vec<u8>) -> &[u8] {
        self.encoded[form].get_or_init(|| encode(self))
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("want", &self.want)
            .field("keys", &self.keys)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// Shared by all nodes of a round, and by the operations that a node still owes after a broken
/// connection.
pub(crate) type SharedOperation = Arc<Operation>;
