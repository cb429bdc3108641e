//! The entries of readers: `entries.lua`.

use super::state::{Held, LOCK, READERS};
use crate::kinds::words::word;
use crate::node::READERS_MARKER;
use crate::node::store::Store;
use crate::node::value::Value;

/// Makes the entry of `token` or moves it forward, if it is told until when, and lets the key and the set live for as
/// long as the reader that stays longest.
pub(super) fn settle(
    store: &mut Store,
    keys: &[&[u8]],
    held: &Held,
    entry: Option<(i64, &[u8])>,
) -> Result<(), Value> {
    let (key, readers, now) = (word(keys, LOCK)?, word(keys, READERS)?, store.millis());
    store.zremrangebyscore(readers, now)?;
    if let Some((till, token)) = entry {
        store.zadd(readers, till, token)?;
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

/// True if `token` has an entry that has not ended.
pub(super) fn is_in(
    store: &Store,
    keys: &[&[u8]],
    held: &Held,
    token: &[u8],
) -> Result<bool, Value> {
    if *held != Held::Readers {
        return Ok(false);
    }
    let ends = store.zscore(word(keys, READERS)?, token)?;
    Ok(ends.is_some_and(|ends| ends > store.millis()))
}
