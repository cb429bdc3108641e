//! The entries of readers: `entries.lua`.

use super::state::{Held, LOCK, READERS};
use crate::kinds::words::word;
use crate::node::READERS_MARKER;
use crate::node::store::Store;
use crate::node::value::Value;

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
