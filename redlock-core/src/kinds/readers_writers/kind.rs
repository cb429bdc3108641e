//! Readers, who share a lock, and writers, who are alone.

use std::sync::Arc;
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

/// The time for which the readers that a writer kept out go first, once the writer has left.
pub(crate) const READERS_TURN: Duration = Duration::from_millis(50);

/// What readers and writers have alike.
struct Shared {
    keys: Resource,
    /// The readers' entries, the intent of a waiting writer, and the readers' turn.
    beside: [Arc<[u8]>; 3],
    counters: Option<Counters>,
    /// For how long nodes remember a refusal; zero if no attempt follows.
    advice: Duration,
}

/// A lock that its holder shares with other readers.
pub(crate) struct Reader(Shared);

/// A lock whose holder is alone.
pub(crate) struct Writer {
    shared: Shared,
    /// The id under which the writer waits. A refused attempt leaves it on the nodes for the next one.
    intent: Option<OwnerToken>,
}

/// The keys beside the lock on `keys`, with `prefix`: the sorted set of the readers' tokens, each with the end of its
/// entry; the key with the id of one waiting writer; and the key that says whose turn it is.
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
        Self(Shared::new(asking))
    }
}

impl Writer {
    pub(crate) fn new(asking: &Asking<'_>) -> Self {
        Self {
            shared: Shared::new(asking),
            intent: (!asking.advice.is_zero()).then(asking.id),
        }
    }

    fn intent(&self) -> Argument {
        match &self.intent {
            Some(id) => Argument::token(id),
            None => Argument::word(""),
        }
    }
}

impl Shared {
    fn new(asking: &Asking<'_>) -> Self {
        let (keys, prefix) = (asking.keys, asking.prefix);
        Self {
            beside: keys_beside(keys, prefix),
            counters: asking.is_fenced.then(|| Counters::new(keys, prefix)),
            keys: keys.clone(),
            advice: asking.advice,
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

    /// An acquisition, whose fourth argument is `intent`.
    fn acquire(
        &self,
        script: &'static crate::node::Script,
        token: &OwnerToken,
        (ttl, hint): (Duration, u64),
        intent: Option<Argument>,
    ) -> Call {
        let reads = if self.counters.is_some() {
            taken_with_a_number
        } else {
            taken
        };
        let call = self
            .call(script, Effect::Takes, reads)
            .with([Argument::token(token)])
            .with([ttl, self.advice].map(Argument::millis))
            .with(intent);
        match self.counters {
            Some(_) => call.with(Counters::asked(hint, ttl)).marked(),
            None => call,
        }
    }
}

impl Kind for Reader {
    fn keys(&self) -> &Resource {
        &self.0.keys
    }

    fn acquire(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        self.0.acquire(&ACQUIRE_READ, token, (ttl, hint), None)
    }

    fn confirm(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        self.0.counters.as_ref()?;
        let call = self.0.call(&CONFIRM_READ, Effect::Keeps, done);
        Some(call.with(Counters::confirmed(token, counter, ttl)))
    }

    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        let counter_ttl = self
            .0
            .counters
            .iter()
            .map(|_| Argument::millis(counter_ttl(ttl)));
        self.0
            .call(&EXTEND_READ, Effect::Keeps, extended)
            .with([Argument::token(token), Argument::millis(ttl)])
            .with(counter_ttl)
    }

    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call {
        let shared = &self.0;
        Call::new(&RESTORE_READ, Effect::PutsBack, &shared.keys, done)
            .beside(shared.beside.iter().cloned())
            .with([Argument::token(token), Argument::millis(ttl)])
    }

    fn release(&self, token: &OwnerToken, until: Duration, _is_lease: bool) -> Call {
        let shared = &self.0;
        // A reader has no part in what writers and refused readers left.
        Call::new(&RELEASE_SHARED, Effect::Undoes(until), &shared.keys, done)
            .beside(shared.beside.iter().take(1).cloned())
            .with([
                Argument::token(token),
                Argument::word(""),
                Argument::number(0),
            ])
    }

    fn beside(&self) -> Vec<Beside> {
        self.0.beside()
    }

    fn turn(&self) -> TurnRule {
        // The next reader gets the lock, too.
        TurnRule::PassOn
    }
}

impl Kind for Writer {
    fn keys(&self) -> &Resource {
        &self.shared.keys
    }

    fn acquire(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        let intent = Some(self.intent());
        self.shared
            .acquire(&ACQUIRE_WRITE, token, (ttl, hint), intent)
    }

    fn confirm(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        let counters = self.shared.counters.as_ref()?;
        Some(counters.confirm(&self.shared.keys, token, counter, ttl))
    }

    fn token_at(&self, count: u64) -> u64 {
        // As for the plain lock.
        count.saturating_sub(1)
    }

    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        match &self.shared.counters {
            Some(counters) => counters.extend(&self.shared.keys, token, ttl),
            None => exclusive::extend(&self.shared.keys, token, ttl),
        }
    }

    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call {
        exclusive::restore(&self.shared.keys, token, ttl)
    }

    fn release(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call {
        if !is_lease {
            // The attempt that failed leaves its place in line to the next one.
            return exclusive::release(&self.shared.keys, token, until);
        }
        let shared = &self.shared;
        Call::new(&RELEASE_SHARED, Effect::Undoes(until), &shared.keys, done)
            .beside(shared.beside.iter().cloned())
            .with([
                Argument::token(token),
                self.intent(),
                Argument::millis(READERS_TURN),
            ])
    }

    fn withdraw(&self) -> Option<Call> {
        let shared = &self.shared;
        let id = self.intent.as_ref()?;
        // No lock has the id as its token.
        let call = Call::new(
            &RELEASE_SHARED,
            Effect::Undoes(shared.advice),
            &shared.keys,
            done,
        )
        .beside(shared.beside.iter().cloned())
        .with([
            Argument::token(id),
            Argument::token(id),
            Argument::number(0),
        ]);
        Some(call)
    }

    fn beside(&self) -> Vec<Beside> {
        self.shared.beside()
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
