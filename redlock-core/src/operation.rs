//! What a client asks of a node.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::resource::Resource;
use crate::token::OwnerToken;

/// One request to all nodes of a lock: which keys, whose token, and what is wanted.
///
/// It says nothing about commands or scripts; which of them serves it is the node's business. It
/// is made once for all nodes of a round, and what a node encodes of it is kept inside, so that
/// the next node of the same kind sends the same bytes.
pub struct Operation {
    keys: Resource,
    token: OwnerToken,
    want: Want,
    /// One slot for each wire form of a Redis node; nodes of other kinds leave them empty.
    encoded: [OnceLock<Vec<u8>>; FORMS],
}

/// Wire forms that an operation may be encoded in.
pub(crate) const FORMS: usize = 2;

/// What an [`Operation`] wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Want {
    /// Put our token under all keys for `ttl`, if none of them exists.
    Acquire {
        /// How long the node keeps the keys unless they are released or extended.
        ttl: Duration,
    },
    /// Let all keys live for at least `ttl` from now, if all hold our token. Never shortens.
    Extend {
        /// The time to live, from when the node serves the operation.
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
            token,
            want,
            encoded: [const { OnceLock::new() }; FORMS],
        }
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
