//! Readers, who share a lock, and writers, who are alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::kinds::Asking;
use crate::kinds::exclusive::{self, done, extended};
use crate::kinds::fenced::{Counters, counter_ttl};
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::{Beside, key_beside};
use crate::node::{Argument, Call, Effect, Holding, Obstacle, Remaining, Value, Vote};
use crate::quorum::kind::{Kind, TurnRule};

use super::{
    ACQUIRE_READ, ACQUIRE_WRITE, CONFIRM_READ, EXTEND_READ, INTENTS, READERS, RELEASE_SHARED,
    RESTORE_READ, TURNS,
};

/// What readers and writers have alike.
struct Shared {
    keys: Resource,
    /// The readers' entries, the intent of a waiting writer, and the readers that were refused.
    beside: [Arc<[u8]>; 3],
    counters: Option<Counters>,
    /// The name under which nodes remember a refusal, and for how long; `None` if no attempt follows.
    waits: Option<(OwnerToken, Duration)>,
}

/// A lock that its holder shares with other readers.
pub(crate) struct Reader {
    shared: Shared,
    /// True if nodes may have refused this reader, or another reader of the client that was in line before this one.
    was_refused: AtomicBool,
    /// True if the client has other refused readers, which wait after this one. The readers' turn lasts until they
    /// are in too.
    is_followed: AtomicBool,
}

/// A lock whose holder is alone.
pub(crate) struct Writer(Shared);

/// The keys beside the lock on `keys`, with `prefix`: the sorted set of the readers' tokens, each with the end of its
/// entry; the key with the name of one waiting writer; and the sorted set of the readers that were refused.
pub(crate) fn keys_beside(keys: &Resource, prefix: &[u8]) -> [Arc<[u8]>; 3] {
    let first = keys.names().next().unwrap_or_default();
    [READERS, INTENTS, TURNS].map(|kind| key_beside(first, prefix, kind).into())
}

/// The keys beside the lock on `key` that say who has it, or waits for it.
pub(crate) fn every_key(key: &Resource, prefix: &[u8]) -> Vec<Arc<[u8]>> {
    let [readers, intent, _] = keys_beside(key, prefix);
    vec![readers, intent]
}

impl Reader {
    pub(crate) fn new(asking: &Asking<'_>) -> Self {
        Self {
            shared: Shared::new(asking),
            was_refused: AtomicBool::new(false),
            is_followed: AtomicBool::new(false),
        }
    }
}

impl Writer {
    pub(crate) fn new(asking: &Asking<'_>) -> Self {
        Self(Shared::new(asking))
    }
}

impl Shared {
    fn new(asking: &Asking<'_>) -> Self {
        let (keys, prefix) = (asking.keys, asking.prefix);
        Self {
            beside: keys_beside(keys, prefix),
            counters: asking.is_fenced.then(|| Counters::new(keys, prefix)),
            keys: keys.clone(),
            waits: asking.waits.map(|(name, advice)| (name.clone(), advice)),
        }
    }

    fn beside(&self) -> Vec<Beside> {
        let mut beside = vec![Beside {
            keys: Resource::of(self.beside.to_vec()),
            parameter: "readers and writers (`mode`)",
            key: "list of its readers",
        }];
        beside.extend(self.counters.as_ref().map(Counters::beside));
        beside
    }

    /// A call with all keys of the lock.
    fn call(
        &self,
        script: &'static crate::node::Script,
        effect: Effect,
        reads: fn(Value) -> Option<Vote>,
    ) -> Call {
        let counters = self.counters.iter().flat_map(Counters::keys);
        Call::new(script, effect, &self.keys, reads)
            .beside(self.beside.iter().cloned())
            .beside(counters)
    }

    /// An acquisition. `last` is the argument after the client's name.
    fn acquire(
        &self,
        script: &'static crate::node::Script,
        token: &OwnerToken,
        (ttl, hint): (Duration, u64),
        last: Option<Argument>,
    ) -> Call {
        let (name, advice) = match &self.waits {
            Some((name, advice)) => (Argument::token(name), *advice),
            None => (Argument::word(""), Duration::ZERO),
        };
        let reads = if self.counters.is_some() {
            taken_with_a_number
        } else {
            taken
        };
        let call = self
            .call(script, Effect::Takes, reads)
            .with([Argument::token(token)])
            .with([ttl, advice].map(Argument::millis))
            .with([name])
            .with(last);
        match self.counters {
            Some(_) => call.with(Counters::asked(hint, ttl)).marked(),
            None => call,
        }
    }

    /// A release that also takes back what the caller left in the last of the first `beside` keys beside the lock's.
    fn leave(&self, token: &OwnerToken, until: Duration, beside: usize) -> Call {
        let name = self.waits.as_ref().map(|(name, _)| Argument::token(name));
        let beside = if name.is_some() { beside } else { 1 };
        Call::new(&RELEASE_SHARED, Effect::Undoes(until), &self.keys, done)
            .beside(self.beside.iter().take(beside).cloned())
            .with([Argument::token(token)])
            .with(name)
    }

    /// The same for a caller without a lease. No lock has its name as the token.
    fn withdraw(&self, beside: usize) -> Option<Call> {
        let (name, advice) = self.waits.as_ref()?;
        Some(self.leave(name, *advice, beside))
    }
}

impl Kind for Reader {
    fn keys(&self) -> &Resource {
        &self.shared.keys
    }

    fn acquire(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        let is_last =
            self.was_refused.load(Ordering::Relaxed) && !self.is_followed.load(Ordering::Relaxed);
        let last = Argument::word(if is_last { "last" } else { "" });
        self.shared
            .acquire(&ACQUIRE_READ, token, (ttl, hint), Some(last))
    }

    fn confirm(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        self.shared.counters.as_ref()?;
        let call = self.shared.call(&CONFIRM_READ, Effect::Keeps, done);
        Some(call.with(Counters::confirmed(token, counter, ttl)))
    }

    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        let counter_ttl = self
            .shared
            .counters
            .iter()
            .map(|_| Argument::millis(counter_ttl(ttl)));
        self.shared
            .call(&EXTEND_READ, Effect::Keeps, extended)
            .with([Argument::token(token), Argument::millis(ttl)])
            .with(counter_ttl)
    }

    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call {
        let shared = &self.shared;
        Call::new(&RESTORE_READ, Effect::PutsBack, &shared.keys, done)
            .beside(shared.beside.iter().cloned())
            .with([Argument::token(token), Argument::millis(ttl)])
    }

    fn release(&self, token: &OwnerToken, until: Duration, _is_lease: bool) -> Call {
        let shared = &self.shared;
        Call::new(&RELEASE_SHARED, Effect::Undoes(until), &shared.keys, done)
            .beside(shared.beside.iter().take(1).cloned())
            .with([Argument::token(token)])
    }

    fn attempts(&self, was_refused: bool, is_followed: bool) {
        self.was_refused.store(was_refused, Ordering::Relaxed);
        self.is_followed.store(is_followed, Ordering::Relaxed);
    }

    fn withdraw(&self, has_won: bool) -> Option<Call> {
        // The nodes know a reader that is in, and followers wait under the same name.
        if has_won || self.is_followed.load(Ordering::Relaxed) {
            return None;
        }
        self.shared.withdraw(3)
    }

    fn beside(&self) -> Vec<Beside> {
        self.shared.beside()
    }

    fn turn(&self) -> TurnRule {
        // The next reader gets the lock, too.
        TurnRule::PassOn
    }
}

impl Kind for Writer {
    fn keys(&self) -> &Resource {
        &self.0.keys
    }

    fn acquire(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        self.0.acquire(&ACQUIRE_WRITE, token, (ttl, hint), None)
    }

    fn confirm(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        let counters = self.0.counters.as_ref()?;
        Some(counters.confirm(&self.0.keys, token, counter, ttl))
    }

    fn token_at(&self, count: u64) -> u64 {
        // As for the plain lock.
        count.saturating_sub(1)
    }

    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        match &self.0.counters {
            Some(counters) => counters.extend(&self.0.keys, token, ttl),
            None => exclusive::extend(&self.0.keys, token, ttl),
        }
    }

    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call {
        exclusive::restore(&self.0.keys, token, ttl)
    }

    fn release(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call {
        if !is_lease {
            // The attempt that failed leaves its place in line to the next one.
            return exclusive::release(&self.0.keys, token, until);
        }
        self.0.leave(token, until, 2)
    }

    fn withdraw(&self, _has_won: bool) -> Option<Call> {
        self.0.withdraw(2)
    }

    fn beside(&self) -> Vec<Beside> {
        self.0.beside()
    }
}

fn taken(value: Value) -> Option<Vote> {
    match taken_with_a_number(value)? {
        Vote::Granted { .. } => Some(Vote::GRANTED),
        vote => Some(vote),
    }
}

/// The reply to an acquisition: a number for a grant; 0 for a key that is no string; or a letter for what is in the
/// way, and a value.
fn taken_with_a_number(value: Value) -> Option<Vote> {
    let text = match value {
        Value::Int(0) => return Some(Vote::Held(Holding::unknown(Remaining::NotALock))),
        Value::Int(count) => return Some(Vote::counted(count.unsigned_abs())),
        Value::Text(text) => text,
        _ => return None,
    };
    Some(Vote::Held(match &*text {
        [b'=', holder @ ..] => Holding::by(holder),
        [b'i', writer @ ..] => Holding::advice(Obstacle::WaitingWriter, Some(writer)),
        [b'r'] => Holding::readers(),
        [b't'] => Holding::advice(Obstacle::ReadersTurn, None),
        _ => return None,
    }))
}
