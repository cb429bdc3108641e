//! What a client asks of a node.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::model::resource::Resource;
use crate::model::token::OwnerToken;

/// One request to all nodes of a lock: which keys, whose token, and what is wanted.
///
/// It says nothing about commands or scripts; which of them serves it is the node's business. It
/// is made once for all nodes of a round, and what a node encodes of it is kept inside, so that
/// the next node of the same kind sends the same bytes.
pub struct Operation {
    keys: Resource,
    /// The keys of the fencing counters; none where no fencing token is wanted.
    counters: Option<Resource>,
    token: OwnerToken,
    /// Of a fenced acquisition: the hint is the nodes' time.
    is_in_nodes_time: bool,
    want: Want,
    /// One slot for each wire form of a Redis node; nodes of other kinds leave them empty.
    encoded: [OnceLock<Vec<u8>>; FORMS],
}

/// Wire forms that an operation may be encoded in.
pub(crate) const FORMS: usize = 3;

/// How far the hint of an acquisition may be from a node's own clock.
///
/// Beyond that the node holds a client's time to the end of the window: one client's wild clock must
/// not push a counter so far ahead that no other's hint ever reaches it. Where the hint is the
/// [nodes' time](Operation::in_nodes_time), it is the node that is wrong, and it grants nothing.
pub const HINT_WINDOW: Duration = Duration::from_secs(1);

/// How long an idle fencing counter is kept. Past that the hint alone keeps the order: it is the
/// time, and no counter is further ahead of the time than [`HINT_WINDOW`]. A counter that is ahead of
/// its node's clock is kept until the clock has passed it, and for so long besides.
pub const COUNTER_IDLE: Duration = Duration::from_secs(60 * 60);

/// For how long a node keeps the counter of a lock: longer than the lock itself.
pub(crate) fn counter_ttl(ttl: Duration) -> Duration {
    COUNTER_IDLE.max(ttl.saturating_mul(2))
}

/// What an [`Operation`] wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Want {
    /// Put our token under all keys for `ttl`, if none of them exists. Where the operation has
    /// counters, move them on to one number above all of them, and answer it.
    Acquire {
        /// How long the node keeps the keys unless they are released or extended.
        ttl: Duration,
        /// What the counters should be at least: the time in µs since 1970, the same for all nodes,
        /// so that all of them answer the same number. See [`HINT_WINDOW`].
        hint: u64,
    },
    /// Let the counters stand at `counter` at least, if all keys hold our token. Only such a node
    /// may count towards a fencing token: a later holder's grant can predate a bare raise, and
    /// two holders would then have the same token.
    Confirm {
        /// The fencing token of this attempt.
        counter: u64,
        /// The lock's ttl, which the counters outlive.
        ttl: Duration,
    },
    /// Let all keys live for at least `ttl` from now, if all hold our token. Never shortens.
    Extend {
        /// The time to live, from when the node serves the operation.
        ttl: Duration,
    },
    /// Put our token back for `ttl` under the keys that are gone, if no key holds another's. To be
    /// sent only behind an extension that a majority granted. Never touches a counter.
    Restore {
        /// How long the node keeps the keys.
        ttl: Duration,
    },
    /// Let the keys that hold our token live for at most `ttl` from now: the end of a lock that is
    /// to be held for some time at least.
    Shorten {
        /// What is left of that time.
        ttl: Duration,
    },
    /// Delete the keys that hold our token.
    Release {
        /// How long the node may keep the keys anyway: past that there is nothing to delete, and
        /// a release that could not be delivered is forgotten.
        ttl: Duration,
    },
    /// Tell how long the first key will still be held, by whomever.
    Inspect,
}

impl Operation {
    /// An operation on all names of `keys`, with the configured prefix already in them.
    pub fn new(keys: Resource, token: OwnerToken, want: Want) -> Self {
        Self {
            keys,
            counters: None,
            token,
            is_in_nodes_time: false,
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

    /// The same acquisition; its hint is what the nodes' clocks show in the median, and not only this
    /// host's. A node whose own clock is further from it than [`HINT_WINDOW`] refuses to count: its
    /// numbers would be as wrong as its clock.
    #[must_use]
    pub fn in_nodes_time(mut self, is: bool) -> Self {
        self.is_in_nodes_time = is;
        self
    }

    /// Whether the hint is what the nodes' clocks show.
    pub fn is_in_nodes_time(&self) -> bool {
        self.is_in_nodes_time
    }

    /// The keys of the fencing counters, where a fencing token is wanted.
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

    /// What is wanted.
    pub fn want(&self) -> Want {
        self.want
    }

    /// The bytes of `form`, made by `encode` the first time that any node asks.
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

/// Shared by all nodes of a round, and by what a node still owes after a broken connection.
pub(crate) type SharedOperation = Arc<Operation>;
