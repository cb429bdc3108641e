//! Locks with readers and writers. A writer excludes everyone, and readers exclude writers.
//!
//! Scripts have the keys of the lock, the readers, the intent and the turn, in this order. With a fencing token the
//! counter follows, and in an acquisition the node's marker. A reader's release has only the first two keys.
//!
//! A node has either a writer's key, or the readers' marker and their entries. An entry counts only next to the marker.
//! So entries that are left after the marker was lost count for nothing, and the next reader removes them.

pub(super) mod scripts;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::kinds::exclusive::{self, BACK, Exclusive, read_done};
use crate::kinds::fenced::Counters;
use crate::kinds::protocol_args::ProtocolArgs;
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::call::ReadReply;
use crate::node::hash_slot::{AuxiliaryKeys, auxiliary_key};
use crate::node::{
    Argument, Call, Counter, Effect, Holding, Obstacle, READERS_MARKER, Script, Value, Vote,
};
use crate::quorum::lock_protocol::{LinePlace, LockProtocol, TurnRule};

use scripts::{ACQUIRE_READ, ACQUIRE_WRITE, EXTEND_READ, RELEASE_SHARED};

/// The prefix of the keys that list readers, after `redlock:`.
pub(super) const READERS: &[u8] = b"readers:";
/// The prefix of the keys with the name of a waiting writer, after `redlock:`.
pub(super) const INTENTS: &[u8] = b"intent:";
/// The prefix of the keys that say whether readers go first, after `redlock:`.
pub(super) const TURNS: &[u8] = b"turn:";

/// Harmless calls of the commands that only these scripts need, on the key `key`. The text is a list in Lua.
pub(crate) const COMMANDS: &str = include_str!("commands.lua");

/// The parts that a reader's lock and a writer's lock have in common.
struct SharedLock {
    /// The plain lock on the same key. Its keys and counters serve readers too, and its calls serve writers.
    lock: Exclusive,
    /// The keys of the readers' entries, the writer's intent and the refused readers.
    auxiliary: [Arc<[u8]>; 3],
    /// The client's token, under which nodes remember a refused caller. `None` if no further attempt follows a refusal.
    client: Option<OwnerToken>,
    /// The time for which nodes remember a refused caller.
    advice: Duration,
}

/// The protocol of a reader, which shares the lock with other readers.
pub(crate) struct Reader {
    shared: SharedLock,
    /// True if nodes may have refused this reader, or another one of its client that was in line before it.
    was_refused: AtomicBool,
    /// True if other refused readers of the client wait after this one. The readers' turn lasts until these readers are
    /// in too.
    is_followed_by_refused: AtomicBool,
}

/// The protocol of a writer, which holds the lock alone.
pub(crate) struct Writer(SharedLock);

/// Returns the auxiliary keys of the lock on `keys`, with the key prefix `prefix`:
/// 1. the sorted set of the readers' tokens, each with the end of its entry;
/// 2. the key with the name of one waiting writer;
/// 3. the sorted set of refused readers.
pub(super) fn shared_keys(keys: &Resource, prefix: &[u8]) -> [Arc<[u8]>; 3] {
    let first = keys.names().next().unwrap_or_default();
    [READERS, INTENTS, TURNS].map(|kind| auxiliary_key(first, prefix, kind).into())
}

/// Checks the request of a reader or a writer. `once_per` is the period of a reader's job.
pub(super) fn check(resource: &Resource, once_per: Option<Duration>) -> Result<(), Invalid> {
    if resource.names().len() > 1 {
        return Err(Invalid::new(format!(
            "the resource `{resource}` has several names, and readers and writers share one name only; \
             leave `kind` out, or lock what the names have in common",
        )));
    }
    if once_per.is_some() {
        return Err(Invalid::new(
            "`once_per` is for a job, and readers run side by side; leave `once_per` out, or \
             write (`kind = \"write\"`)",
        ));
    }
    Ok(())
}

impl SharedLock {
    fn new(args: &ProtocolArgs<'_>) -> Self {
        Self {
            lock: Exclusive::new(args),
            auxiliary: shared_keys(args.keys, args.prefix),
            client: args.advice.map(|advice| advice.client.clone()),
            advice: args.advice.map_or(Duration::ZERO, |advice| advice.lasts),
        }
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        let mut all = vec![AuxiliaryKeys {
            keys: Resource::of(self.auxiliary.to_vec()),
            parameter: "readers and writers (`kind`)",
            key: "list of its readers",
        }];
        all.extend(self.lock.auxiliary_keys());
        all
    }

    /// Builds a call with the first `count` auxiliary keys. The lock's counter follows, if the call needs one.
    fn call(&self, script: &'static Script, effect: Effect, count: usize) -> Call {
        let counts = matches!(effect, Effect::Takes | Effect::Keeps);
        let counters = self.lock.counters.as_ref().filter(|_| counts);
        Call::new(script, effect, self.lock.keys(), read_reply(script))
            .with_keys(self.auxiliary[..count].iter().cloned())
            .with_keys(counters.into_iter().flat_map(Counters::keys))
    }

    /// Begins an acquisition: its arguments up to the client's token.
    fn acquire(&self, script: &'static Script, token: &OwnerToken, ttl: Duration) -> Call {
        let client = self.client.as_ref();
        let [ttl, advice] = [ttl, self.advice].map(Argument::millis);
        let client = client.map_or_else(|| Argument::text(""), Argument::token);
        self.call(script, Effect::Takes, 3)
            .with([Argument::token(token), ttl, advice, client])
    }

    /// Completes an acquisition with the arguments of the counter, if the lock is fenced.
    fn fence(&self, call: Call, ttl: Duration, hint: u64) -> Call {
        match &self.lock.counters {
            Some(_) => call.with(Counters::acquisition_args(hint, ttl)).marked(),
            None => call,
        }
    }

    /// Builds a release with the first `count` auxiliary keys. The release removes the client's token from the last of
    /// them.
    fn leave(&self, token: &OwnerToken, until: Duration, count: usize) -> Call {
        let client = self.client.as_ref().map(Argument::token);
        let count = if client.is_some() { count } else { 1 };
        self.call(&RELEASE_SHARED, Effect::Undoes(until), count)
            .with([Argument::token(token)])
            .with(client)
    }

    /// Builds the call that only removes the client's token from the nodes.
    fn withdraw(&self, count: usize) -> Option<Call> {
        let client = self.client.as_ref()?;
        Some(self.leave(client, self.advice, count))
    }
}

impl Reader {
    pub(super) fn new(args: &ProtocolArgs<'_>) -> Self {
        Self {
            shared: SharedLock::new(args),
            was_refused: AtomicBool::new(false),
            is_followed_by_refused: AtomicBool::new(false),
        }
    }

    /// Builds the call that extends the entry and raises the counter to at least `count`.
    fn keep(&self, token: &OwnerToken, ttl: Duration, count: u64) -> Call {
        let counters = self.shared.lock.counters.as_ref();
        let counters = counters.map(|_| Counters::extension_args(count, ttl));
        self.shared
            .call(&EXTEND_READ, Effect::Keeps, 3)
            .with([Argument::token(token), Argument::millis(ttl)])
            .with(counters.into_iter().flatten())
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
        let is_last = self.was_refused.load(Relaxed) && !self.is_followed_by_refused.load(Relaxed);
        let last = Argument::text(if is_last { "last" } else { "" });
        let call = self.shared.acquire(&ACQUIRE_READ, token, ttl).with([last]);
        self.shared.fence(call, ttl, hint)
    }

    fn confirm_call(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        self.shared.lock.counters.as_ref()?;
        Some(self.keep(token, ttl, counter))
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
        self.was_refused.store(place.was_refused, Relaxed);
        self.is_followed_by_refused
            .store(place.is_followed_by_refused, Relaxed);
    }

    fn withdraw_call(&self, is_kept: bool) -> Option<Call> {
        // A winner's acquisition has removed the name already.
        self.shared.withdraw(3).filter(|_| !is_kept)
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        self.shared.auxiliary_keys()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn turn_rule(&self) -> TurnRule {
        // The next reader gets the lock as well.
        TurnRule::PassOn
    }
}

impl LockProtocol for Writer {
    fn keys(&self) -> &Resource {
        self.0.lock.keys()
    }

    fn acquire_call(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        let call = self.0.acquire(&ACQUIRE_WRITE, token, ttl);
        self.0.fence(call, ttl, hint)
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
            // After a failed attempt the intent stays for the caller's next attempt.
            return self.0.lock.release_call(token, until, is_lease);
        }
        self.0.leave(token, until, 2)
    }

    fn withdraw_call(&self, _is_kept: bool) -> Option<Call> {
        self.0.withdraw(2)
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        self.0.auxiliary_keys()
    }
}

/// Returns the reader of the script's replies.
fn read_reply(script: &'static Script) -> ReadReply {
    if *script == ACQUIRE_READ {
        |value, _| read_admission(value, 0)
    } else if *script == ACQUIRE_WRITE {
        |value, _| read_admission(value, 1)
    } else {
        read_done
    }
}

/// Reads the reply to an acquisition: the counter's number, the reply of a plain lock, or a letter for the obstacle and
/// then a value. The lease's number is `below` the counter's: a reader has the counter's number, and a writer the one
/// before, because the next reader takes the counter's.
fn read_admission(value: Value, below: u64) -> Option<Vote> {
    if let Value::Int(count @ 2..) = value {
        let count = count.unsigned_abs();
        let first = count - below;
        return Some(Vote::granted(Some(Counter { count, first }), None));
    }
    let Value::Text(text) = value else {
        return exclusive::read_taken(value);
    };
    Some(Vote::Held(match &*text {
        [b'=', holder @ ..] => Holding::by(holder),
        [b'i', writer @ ..] => Holding::advice(Obstacle::WaitingWriter, Some(writer)),
        [b'r'] => Holding::by(READERS_MARKER),
        [b't'] => Holding::advice(Obstacle::ReadersTurn, None),
        _ => return None,
    }))
}
