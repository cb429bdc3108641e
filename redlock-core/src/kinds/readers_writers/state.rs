//! What keys of a lock with readers and writers hold.

use crate::kinds::words::word;
use crate::node::READERS_MARKER;
use crate::node::store::Store;
use crate::node::value::Value;

/// Beside the readers that were refused, if a writer has been let in since.
pub(super) const DUE: &[u8] = b"due";

/// The longest time in ms for which readers keep a writer out that they do not use the lock.
pub(super) const LONGEST_TURN: i64 = 500;

/// The places of keys.
pub(super) const LOCK: usize = 0;
pub(super) const READERS: usize = 1;
pub(super) const INTENT: usize = 2;
pub(super) const TURNS: usize = 3;
pub(super) const COUNTER: usize = 4;
pub(super) const MARKER: usize = 5;

/// What the lock's key holds.
#[derive(PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// The readers' marker.
    Readers,
    /// The owner token of a writer or any other value.
    By(Box<[u8]>),
}

/// `held.lua`. Without keys, or if the lock's key is no string, the answer is 0.
pub(super) fn held(store: &Store, keys: &[&[u8]]) -> Result<Held, Value> {
    let value = keys.get(LOCK).map(|key| store.get(key));
    match value {
        None | Some(Err(_)) => Err(Value::Int(0)),
        Some(Ok(None)) => Ok(Held::Nothing),
        Some(Ok(Some(value))) if value == READERS_MARKER => Ok(Held::Readers),
        Some(Ok(Some(value))) => Ok(Held::By(value.into())),
    }
}

/// `turn.lua`: true if readers that were refused go first.
pub(super) fn is_turn(store: &Store, keys: &[&[u8]]) -> bool {
    let now = store.millis();
    let waiting = keys.get(TURNS).map(|key| store.entries(key));
    waiting.and_then(Result::ok).is_some_and(|waiting| {
        let lasts = |ends: &&i64| **ends > now;
        waiting.get(DUE).is_some_and(|ends| lasts(&ends))
            && waiting.values().filter(lasts).count() > 1
    })
}

/// Deletes the intent of the writer with this name.
pub(super) fn withdraw(store: &mut Store, keys: &[&[u8]], name: &[u8]) {
    if let Some(key) = keys.get(INTENT)
        && store.says(key, name)
    {
        store.del(key);
    }
}

/// Makes our entry or moves it forward, if it is told until when, and lets the key and the set live for as
/// long as the reader that stays longest.
pub(super) fn settle(
    store: &mut Store,
    keys: &[&[u8]],
    arguments: &[&[u8]],
    held: &Held,
    till: Option<i64>,
) -> Result<(), Value> {
    let (key, readers, now) = (word(keys, LOCK)?, word(keys, READERS)?, store.millis());
    store.zremrangebyscore(readers, now)?;
    if let Some(till) = till {
        store.zadd(readers, till, word(arguments, 0)?)?;
    }
    let Some(last) = store.highest(readers)? else {
        store.del(key);
        return Ok(());
    };
    if *held == Held::Readers {
        store.pexpire(key, last - now);
    } else {
        store.set(key, READERS_MARKER, last - now)?;
    }
    store.pexpire(readers, last - now);
    Ok(())
}

/// True if we have an entry that has not ended.
pub(super) fn is_in(
    store: &Store,
    keys: &[&[u8]],
    arguments: &[&[u8]],
    held: &Held,
) -> Result<bool, Value> {
    if *held != Held::Readers {
        return Ok(false);
    }
    let ends = store.zscore(word(keys, READERS)?, word(arguments, 0)?)?;
    Ok(ends.is_some_and(|ends| ends > store.millis()))
}
