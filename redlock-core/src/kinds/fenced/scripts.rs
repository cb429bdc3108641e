//! The scripts of locks with fencing tokens, with their twins.

use crate::kinds::exclusive::scripts::{free, ours};
use crate::kinds::words::{integer, number, word};
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Every counter is lower than this number, because a double does not count reliably beyond it.
const TOO_LARGE: i64 = (1 << 53) - 1;

/// Takes the locks on several keys, all or none, and raises their counters.
pub(crate) static ACQUIRE_FENCED: Script = Script::loaded(
    "acquire-fenced",
    concat!(
        include_str!("counters.lua"),
        include_str!("hint.lua"),
        include_str!("acquire_fenced.lua"),
    ),
    acquire_fenced,
)
.shaped("lock+ counter+ marker?", "token ttl hint window life");

/// Raises the counters of a lock that is ours to its fencing token.
pub(crate) static CONFIRM: Script = Script::loaded(
    "confirm",
    concat!(
        include_str!("counters.lua"),
        include_str!("../exclusive/ours.lua"),
        include_str!("confirm.lua"),
    ),
    confirm,
)
.shaped("lock+ counter+", "token hint life");

fn acquire_fenced(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, rest) = keys.split_at(keys.len() / 2);
    let (counters, marker) = rest.split_at(locks.len());
    for marker in marker {
        check(store, marker)?;
    }
    free(store, locks)?;
    let mut count = clamped(store, integer(arguments, 2)?, integer(arguments, 3)?);
    for key in counters {
        count = count.max(stands(store, key) + 2);
    }
    for key in locks {
        store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
    }
    let life = kept_for(store, count, integer(arguments, 4)?);
    for key in counters {
        store.set(key, count.to_string().as_bytes(), life)?;
    }
    Ok(Value::Int(count))
}

fn confirm(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let counters = &keys[ours(store, keys, arguments)?..];
    let count = integer(arguments, 1)?;
    let life = kept_for(store, count, integer(arguments, 2)?);
    for key in counters {
        if stands(store, key) < count {
            store.set(key, word(arguments, 1)?, life)?;
        }
    }
    Ok(Value::Int(1))
}

/// The number of a counter. A value that is no number, or too large, counts as missing.
pub(crate) fn stands(store: &Store, key: &[u8]) -> i64 {
    let digits = store.get(key).ok().flatten();
    let number = digits.and_then(number);
    number.filter(|it| (0..TOO_LARGE).contains(it)).unwrap_or(0)
}

/// The ms for which a counter is kept: `ttl` after the clock has passed it.
pub(crate) fn kept_for(store: &Store, count: i64, ttl: i64) -> i64 {
    let ahead = count.saturating_sub(store.micros()).max(0);
    ttl.saturating_add(ahead / 1000 + i64::from(ahead % 1000 > 0))
}

/// The hint, limited to a window around the node's clock.
pub(crate) fn clamped(store: &Store, hint: i64, window: i64) -> i64 {
    let now = store.micros();
    hint.max(now.saturating_sub(window))
        .min(now.saturating_add(window))
}

/// An error if the node's marker is missing, or its quarantine is not over.
pub(crate) fn check(store: &Store, marker: &[u8]) -> Result<(), Value> {
    let text = store.get(marker).ok().flatten().unwrap_or_default();
    let first = text.split(|byte| *byte == b' ').next();
    match first.and_then(number) {
        Some(ends) if ends.saturating_mul(1000) <= store.micros() => Ok(()),
        _ => Err(Value::error("NOMARKER")),
    }
}
