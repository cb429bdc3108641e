//! Locks with readers and writers: a writer excludes all, and readers exclude writers.
//!
//! Keys of scripts are the lock's key, the readers, the intent and the turn; a fenced acquisition, its confirmation and
//! its extension have the counter as the fifth, and a checked acquisition the node's marker as the sixth. A reader's
//! release has the first two only.
//!
//! At one node there is never a writer's key beside a reader's entry that has not ended, except if the key was lost:
//! then old entries are of no account, and the next reader that creates the key removes them. An entry counts only
//! beside the readers' marker.

pub(super) mod scripts;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::kinds::ProtocolArgs;
use crate::kinds::exclusive::{self, BACK, Exclusive, done};
use crate::kinds::fenced::Counters;
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::call::Reads;
use crate::node::hash_slot::{AuxiliaryKeys, auxiliary_key};
use crate::node::{Argument, Call, Effect, Holding, Obstacle, READERS_MARKER, Script, Value, Vote};
use crate::quorum::lock_protocol::{LinePlace, LockProtocol, TurnRule};

use scripts::{ACQUIRE_READ, ACQUIRE_WRITE, EXTEND_READ, RELEASE_SHARED};

/// The beginning of the keys that list readers, after `redlock:`.
pub(super) const READERS: &[u8] = b"readers:";
/// The beginning of the keys with the name of a waiting writer, after `redlock:`.
pub(super) const INTENTS: &[u8] = b"intent:";
/// The beginning of the keys that say whether readers go first, after `redlock:`.
pub(super) const TURNS: &[u8] = b"turn:";

/// Calls without an effect, on the key `key`, of the commands that these scripts need beside those of every lock: Lua,
/// with commas between.
pub(crate) const COMMANDS: &str = include_str!("commands.lua");

/// What readers and writers have alike.
struct SharedLock {
    /// The lock of a holder that is alone.
    lock: Exclusive,
    /// The readers' entries, the intent of a waiting writer, and the readers that were refused.
    auxiliary: [Arc<[u8]>; 3],
    /// The name under which nodes remember a refusal, and for how long; `None` if no attempt follows.
    waits: Option<(OwnerToken, Duration)>,
}

/// A lock that its holder shares with other readers.
pub(crate) struct Reader {
    shared: SharedLock,
    /// True if nodes may have refused this reader, or another reader of the client that was in line before this one.
    was_refused: AtomicBool,
    /// True if the client has other refused readers, which wait after this one. The readers' turn lasts until they
    /// are in too.
    is_followed: AtomicBool,
}

/// A lock whose holder is alone.
pub(crate) struct Writer(SharedLock);

/// The keys beside the lock on `keys`, with `prefix`: the sorted set of the readers' tokens, each with the end of its
/// entry; the key with the name of one waiting writer; and the sorted set of the readers that were refused.
fn shared_keys(keys: &Resource, prefix: &[u8]) -> [Arc<[u8]>; 3] {
    let first = keys.names().next().unwrap_or_default();
    [READERS, INTENTS, TURNS].map(|kind| auxiliary_key(first, prefix, kind).into())
}

/// The key that lists the readers of the lock on `key`.
pub(super) fn readers_of(key: &Resource, prefix: &[u8]) -> Arc<[u8]> {
    let [readers, ..] = shared_keys(key, prefix);
    readers
}

/// Checks a request of a reader or a writer. `has_period` says whether it is a reader's job.
pub(super) fn check(resource: &Resource, has_period: bool) -> Result<(), Invalid> {
    if resource.names().len() > 1 {
        return Err(Invalid::new(format!(
            "the resource `{resource}` has several names, and readers and writers share one name only; \
             lock the names without a `mode`, or what they have in common",
        )));
    }
    if has_period {
        return Err(Invalid::new(
            "`once_per` is for a job, and readers run side by side; leave `once_per` out, or \
             write (`mode = \"write\"`)",
        ));
    }
    Ok(())
}

impl SharedLock {
    fn new(args: &ProtocolArgs<'_>) -> Self {
        Self {
            lock: Exclusive::new(args),
            auxiliary: shared_keys(args.keys, args.prefix),
            waits: args.waits.map(|(name, advice)| (name.clone(), advice)),
        }
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        let shared = AuxiliaryKeys {
            keys: Resource::of(self.auxiliary.to_vec()),
            parameter: "readers and writers (`mode`)",
            key: "list of its readers",
        };
        [vec![shared], self.lock.auxiliary_keys()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// A call with the first `beside` of the keys beside the lock's, and with its counter if it needs one.
    fn call(&self, script: &'static Script, effect: Effect, beside: usize) -> Call {
        let reads: Reads = if effect == Effect::Takes { taken } else { done };
        let counts = matches!(effect, Effect::Takes | Effect::Keeps);
        let counters = self.lock.counters().filter(|_| counts);
        Call::new(script, effect, self.lock.keys(), reads)
            .with_keys(self.auxiliary[..beside].iter().cloned())
            .with_keys(counters.into_iter().flat_map(Counters::keys))
    }

    /// An acquisition. `last` is the argument after the client's name.
    fn acquire(
        &self,
        script: &'static Script,
        token: &OwnerToken,
        (ttl, hint): (Duration, u64),
        last: Option<Argument>,
    ) -> Call {
        let (name, advice) = match &self.waits {
            Some((name, advice)) => (Argument::token(name), *advice),
            None => (Argument::text(""), Duration::ZERO),
        };
        let [ttl_millis, advice] = [ttl, advice].map(Argument::millis);
        let call = self
            .call(script, Effect::Takes, 3)
            .with([Argument::token(token), ttl_millis, advice, name])
            .with(last);
        match self.lock.counters() {
            Some(_) => call.with(Counters::acquired(hint, ttl)).marked(),
            None => call,
        }
    }

    /// A release with `beside` of the keys beside the lock's. It takes back what the caller left in the last of them.
    fn leave(&self, token: &OwnerToken, until: Duration, beside: usize) -> Call {
        let name = self.waits.as_ref().map(|(name, _)| Argument::token(name));
        let beside = if name.is_some() { beside } else { 1 };
        self.call(&RELEASE_SHARED, Effect::Undoes(until), beside)
            .with([Argument::token(token)])
            .with(name)
    }

    /// Takes back what a caller without a lease left. The token is the caller's name, so the call releases no lock.
    fn withdraw(&self, beside: usize) -> Option<Call> {
        let (name, advice) = self.waits.as_ref()?;
        Some(self.leave(name, *advice, beside))
    }
}

impl Reader {
    pub(super) fn new(args: &ProtocolArgs<'_>) -> Self {
        Self {
            shared: SharedLock::new(args),
            was_refused: AtomicBool::new(false),
            is_followed: AtomicBool::new(false),
        }
    }

    /// An extension that raises the counter to at least `count`.
    fn keep(&self, token: &OwnerToken, ttl: Duration, count: u64) -> Call {
        let counters = self.shared.lock.counters();
        self.shared
            .call(&EXTEND_READ, Effect::Keeps, 3)
            .with([Argument::token(token), Argument::millis(ttl)])
            .with(
                counters
                    .into_iter()
                    .flat_map(|_| Counters::kept(count, ttl)),
            )
    }
}

impl Writer {
    pub(super) fn new(args: &ProtocolArgs<'_>) -> Self {
        Self(SharedLock::new(args))
    }
}

impl LockProtocol for Reader {
    fn keys(&self) -> &Resource {
        self.shared.lock.keys()
    }

    fn acquire_call(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        let is_last =
            self.was_refused.load(Ordering::Relaxed) && !self.is_followed.load(Ordering::Relaxed);
        let last = Argument::text(if is_last { "last" } else { "" });
        self.shared
            .acquire(&ACQUIRE_READ, token, (ttl, hint), Some(last))
    }

    fn confirm_call(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        self.shared.lock.counters()?;
        Some(self.keep(token, ttl, counter))
    }

    fn fencing_token_at(&self, count: u64) -> u64 {
        count
    }

    fn extend_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.keep(token, ttl, 0)
    }

    fn restore_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.shared.call(&EXTEND_READ, Effect::PutsBack, 3).with([
            Argument::token(token),
            Argument::millis(ttl),
            Argument::text(BACK),
        ])
    }

    fn release_call(&self, token: &OwnerToken, until: Duration, _is_lease: bool) -> Call {
        self.shared
            .call(&RELEASE_SHARED, Effect::Undoes(until), 1)
            .with([Argument::token(token)])
    }

    fn prepare_attempt(&self, place: LinePlace) {
        self.was_refused.store(place.was_refused, Ordering::Relaxed);
        self.is_followed.store(place.is_followed, Ordering::Relaxed);
    }

    fn withdraw_call(&self, has_won: bool) -> Option<Call> {
        // The acquisition of a winner took the name back, and followers still need the name.
        if has_won || self.is_followed.load(Ordering::Relaxed) {
            return None;
        }
        self.shared.withdraw(3)
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        self.shared.auxiliary_keys()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn turn_rule(&self) -> TurnRule {
        // The next reader gets the lock, too.
        TurnRule::PassOn
    }
}

impl LockProtocol for Writer {
    fn keys(&self) -> &Resource {
        self.0.lock.keys()
    }

    fn acquire_call(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        self.0.acquire(&ACQUIRE_WRITE, token, (ttl, hint), None)
    }

    fn confirm_call(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        self.0.lock.confirm_call(token, counter, ttl)
    }

    fn extend_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.0.lock.extend_call(token, ttl)
    }

    fn restore_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.0.lock.restore_call(token, ttl)
    }

    fn release_call(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call {
        if !is_lease {
            // After a failed attempt the intent stays, for the caller's next attempt.
            return self.0.lock.release_call(token, until, is_lease);
        }
        self.0.leave(token, until, 2)
    }

    fn withdraw_call(&self, _has_won: bool) -> Option<Call> {
        self.0.withdraw(2)
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        self.0.auxiliary_keys()
    }
}

/// The reply to an acquisition: as that of a plain lock, or a letter for what is in the way, and a value.
fn taken(value: Value) -> Option<Vote> {
    let Value::Text(text) = value else {
        return exclusive::taken(value);
    };
    Some(Vote::Held(match &*text {
        [b'=', holder @ ..] => Holding::by(holder),
        [b'i', writer @ ..] => Holding::advice(Obstacle::WaitingWriter, Some(writer)),
        [b'r'] => Holding::by(READERS_MARKER),
        [b't'] => Holding::advice(Obstacle::ReadersTurn, None),
        _ => return None,
    }))
}
