//! The plain lock with a fencing token.

use std::sync::Arc;
use std::time::Duration;

use crate::kinds::exclusive::{self, done};
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::{Beside, keys_beside};
use crate::node::{Argument, Call, Effect, Holding, Remaining, Value, Vote};
use crate::quorum::fencing::{COUNTER_IDLE, HINT_WINDOW};
use crate::quorum::kind::{Kind, TurnRule};

use super::{ACQUIRE_FENCED, CONFIRM, COUNTERS};

/// The keys of the fencing counters of a lock.
#[derive(Clone)]
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

    /// Raises the counters of the lock on `keys`, if the token has it.
    pub(crate) fn confirm(
        &self,
        keys: &Resource,
        token: &OwnerToken,
        counter: u64,
        ttl: Duration,
    ) -> Call {
        Call::new(&CONFIRM, Effect::Keeps, keys, done)
            .beside(self.keys())
            .with(Self::confirmed(token, counter, ttl))
    }

    /// The extension of a lock on `keys` whose counters have to outlive it.
    pub(crate) fn extend(&self, keys: &Resource, token: &OwnerToken, ttl: Duration) -> Call {
        exclusive::extend(keys, token, ttl)
            .beside(self.keys())
            .with([Argument::millis(counter_ttl(ttl))])
    }

    /// The arguments of an acquisition behind those of a lock without counters.
    pub(crate) fn asked(hint: u64, ttl: Duration) -> [Argument; 3] {
        [
            Argument::number(hint),
            Argument::micros(HINT_WINDOW),
            Argument::millis(counter_ttl(ttl)),
        ]
    }

    /// The arguments of a confirmation.
    pub(crate) fn confirmed(token: &OwnerToken, counter: u64, ttl: Duration) -> [Argument; 3] {
        [
            Argument::token(token),
            Argument::number(counter),
            Argument::millis(counter_ttl(ttl)),
        ]
    }
}

/// The time to live of the counters of a lock with this ttl.
pub(crate) fn counter_ttl(ttl: Duration) -> Duration {
    COUNTER_IDLE.max(ttl.saturating_mul(2))
}

/// One lock on one key or several, with a fencing counter beside each.
pub(crate) struct Fenced {
    keys: Resource,
    counters: Counters,
    /// See [`Kind::number`].
    number: Option<u16>,
}

impl Fenced {
    pub(crate) fn new(keys: Resource, prefix: &[u8]) -> Self {
        let counters = Counters::new(&keys, prefix);
        let number = None;
        Self {
            keys,
            counters,
            number,
        }
    }

    /// The only one of its like.
    pub(crate) fn only(self) -> Self {
        let number = Some(0);
        Self { number, ..self }
    }
}

impl Kind for Fenced {
    fn keys(&self) -> &Resource {
        &self.keys
    }

    fn acquire(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        Call::new(&ACQUIRE_FENCED, Effect::Takes, &self.keys, taken)
            .beside(self.counters.keys())
            .with([Argument::token(token), Argument::millis(ttl)])
            .with(Counters::asked(hint, ttl))
            .marked()
    }

    fn confirm(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        Some(self.counters.confirm(&self.keys, token, counter, ttl))
    }

    fn token_at(&self, count: u64) -> u64 {
        // The counters stand one above the token, so that the next reader takes them as they are.
        count.saturating_sub(1)
    }

    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.counters.extend(&self.keys, token, ttl)
    }

    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call {
        exclusive::restore(&self.keys, token, ttl)
    }

    fn release(&self, token: &OwnerToken, until: Duration, _is_lease: bool) -> Call {
        exclusive::release(&self.keys, token, until)
    }

    fn beside(&self) -> Vec<Beside> {
        vec![self.counters.beside()]
    }

    fn turn(&self) -> TurnRule {
        TurnRule::HandOver
    }

    fn number(&self) -> Option<u16> {
        self.number
    }
}

/// The reply to an acquisition: the number at which the counters stand, the holder's value, or 0 for a key that
/// is no string.
fn taken(value: Value) -> Option<Vote> {
    match value {
        Value::Int(0) => Some(Vote::Held(Holding::unknown(Remaining::NotALock))),
        Value::Int(count) => Some(Vote::counted(count.unsigned_abs())),
        Value::Text(holder) => Some(Vote::Held(Holding::by(holder))),
        _ => None,
    }
}
