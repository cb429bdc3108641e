//! What keys of a lock with readers and writers hold.

use crate::node::READERS_MARKER;
use crate::node::store::Store;
use crate::node::value::Value;

/// Beside the readers that were refused, if a writer has been let in since.
pub(super) const DUE: &[u8] = b"due";

/// The longest time in ms for which readers keep a writer out that they do not use the lock.
pub(super) const LONGEST_TURN: i64 = 500;

/// What the lock's key holds.
#[derive(PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// The readers' marker.
    Readers,
    /// The owner token of a writer or any other value.
    By(Box<[u8]>),
}

/// `held.lua`. If the lock's key is no string, the answer is 0.
pub(super) fn held(store: &Store, key: &[u8]) -> Result<Held, Value> {
    match store.get(key) {
        Err(_) => Err(Value::Int(0)),
        Ok(None) => Ok(Held::Nothing),
        Ok(Some(READERS_MARKER)) => Ok(Held::Readers),
        Ok(Some(value)) => Ok(Held::By(value.into())),
    }
}

/// `turn.lua`: true if readers that were refused go first.
pub(super) fn is_turn(store: &Store, turn: &[u8]) -> bool {
    let now = store.millis();
    store.entries(turn).is_ok_and(|waiting| {
        let lasts = |ends: &&i64| **ends > now;
        waiting.get(DUE).is_some_and(|ends| lasts(&ends))
            && waiting.values().filter(lasts).count() > 1
    })
}

/// `entries.lua`: with `till`, makes the entry of a token or lets it last until then. Then lets the key and the set
/// live for as long as the reader that stays longest.
pub(super) fn settle(
    store: &mut Store,
    key: &[u8],
    readers: &[u8],
    held: &Held,
    till: Option<(i64, &[u8])>,
) -> Result<(), Value> {
    let now = store.millis();
    store.zremrangebyscore(readers, now)?;
    if let Some((till, token)) = till {
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

/// True if the token has an entry that has not ended.
pub(super) fn is_in(
    store: &Store,
    readers: &[u8],
    token: &[u8],
    held: &Held,
) -> Result<bool, Value> {
    let ends = match held {
        Held::Readers => store.zscore(readers, token)?,
        _ => None,
    };
    Ok(ends.is_some_and(|ends| ends > store.millis()))
}
