//! Fencing counters, which nodes keep beside the keys of locks.

pub(super) mod scripts;

use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::Argument;
use crate::node::hash_slot::{Beside, keys_beside};
use crate::quorum::fencing::{COUNTER_IDLE, HINT_WINDOW};

/// The beginning of the keys of fencing counters, after `redlock:`.
pub(super) const COUNTERS: &[u8] = b"fence:";

/// The keys of the fencing counters of a lock.
pub(crate) struct Counters(Resource);

impl Counters {
    /// The counters of the lock on `keys`, with `prefix`.
    pub(crate) fn new(keys: &Resource, prefix: &[u8]) -> Self {
        Self(keys_beside(keys, prefix, COUNTERS))
    }

    /// The keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Arc<[u8]>> + '_ {
        self.0.shared_names().iter().cloned()
    }

    pub(crate) fn beside(&self) -> Beside {
        Beside {
            keys: self.0.clone(),
            parameter: "a fencing token",
            key: "counter",
        }
    }

    /// The arguments that follow those of an acquisition without counters.
    pub(crate) fn acquired(hint: u64, ttl: Duration) -> [Argument; 3] {
        let window = Argument::text(HINT_WINDOW.as_micros());
        [Argument::text(hint), window, Self::life(ttl)]
    }

    /// The arguments of a confirmation.
    pub(crate) fn confirmed(token: &OwnerToken, counter: u64, ttl: Duration) -> [Argument; 3] {
        let counter = Argument::text(counter);
        [Argument::token(token), counter, Self::life(ttl)]
    }

    /// The time to live of the counters of a lock with this ttl.
    pub(crate) fn life(ttl: Duration) -> Argument {
        Argument::millis(COUNTER_IDLE.max(ttl.saturating_mul(2)))
    }
}
