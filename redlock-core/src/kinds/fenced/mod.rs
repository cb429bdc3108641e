//! Fencing counters, which nodes keep beside the keys of locks.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::kinds::exclusive::scripts::live;
use crate::kinds::words::number;
use crate::model::resource::Resource;
use crate::node::Argument;
use crate::node::hash_slot::{AuxiliaryKeys, auxiliary_keys};
use crate::node::store::Store;
use crate::node::value::Value;
use crate::quorum::fencing::{COUNTER_IDLE, HINT_WINDOW};

/// The beginning of the keys of fencing counters, after `redlock:`.
pub(super) const COUNTERS: &[u8] = b"fence:";

/// Every counter is lower than this number, because a double does not count reliably beyond it.
const TOO_LARGE: i64 = (1 << 53) - 1;

/// The keys of the fencing counters of a lock.
pub(crate) struct Counters(Resource);

impl Counters {
    /// The counters of the lock on `keys`, with `prefix`.
    pub(crate) fn new(keys: &Resource, prefix: &[u8]) -> Self {
        Self(auxiliary_keys(keys, prefix, COUNTERS))
    }

    /// The keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Arc<[u8]>> + '_ {
        self.0.shared_names().iter().cloned()
    }

    pub(crate) fn auxiliary_keys(&self) -> AuxiliaryKeys {
        AuxiliaryKeys {
            keys: self.0.clone(),
            parameter: "a fencing token",
            key: "counter",
        }
    }

    /// The last arguments of an extension that raises the counters to at least `count`.
    pub(crate) fn kept(count: u64, ttl: Duration) -> [Argument; 2] {
        let life = COUNTER_IDLE.max(ttl.saturating_mul(2));
        [Argument::text(count), Argument::millis(life)]
    }

    /// The last arguments of an acquisition.
    pub(crate) fn acquired(hint: u64, ttl: Duration) -> [Argument; 3] {
        let [hint, life] = Self::kept(hint, ttl);
        let window = Argument::text(HINT_WINDOW.as_micros());
        [hint, life, window]
    }
}

/// The function of `counters.lua`. The numbers are `least`, the counters' ttl and the window. Without counters: 1.
pub(super) fn counted(
    store: &mut Store,
    counters: &[&[u8]],
    step: i64,
    numbers: &[&[u8]],
) -> Result<i64, Value> {
    if counters.is_empty() {
        return Ok(1);
    }
    let (now, mut count) = (store.micros(), number(numbers[0])?);
    if let Some(window) = numbers.get(2) {
        let window = number(window)?;
        count = count
            .max(now.saturating_sub(window))
            .min(now.saturating_add(window));
    }
    for key in counters {
        let digits = store.get(key).ok().flatten().unwrap_or_default();
        let stands = number(digits).unwrap_or(0);
        let is_valid = (0..TOO_LARGE).contains(&stands);
        count = count.max(step + if is_valid { stands } else { 0 });
    }
    let ahead = count.saturating_sub(now).max(0);
    let ahead = ahead / 1000 + i64::from(ahead % 1000 > 0);
    let life = number(numbers[1])?.saturating_add(ahead);
    let text = count.to_string();
    for key in counters {
        let has_window = numbers.len() > 2;
        if has_window || (count > 0 && !store.says(key, text.as_bytes())) {
            store.set(key, text.as_bytes(), life.max(store.pttl(key)))?;
        } else {
            live(store, key, life);
        }
    }
    Ok(count)
}

/// The end of `counters.lua`: those of `keys` that are counters. The next key is the node's marker, if there is one:
/// an error if it is missing, or its quarantine is not over.
pub(super) fn counters<'a>(
    store: &Store,
    keys: &'a [&'a [u8]],
    count: usize,
) -> Result<&'a [&'a [u8]], Value> {
    let Some((counters, [marker])) = keys.split_at_checked(count) else {
        return Ok(keys);
    };
    let text = store.get(marker).ok().flatten().unwrap_or_default();
    let first = text.split(|byte| *byte == b' ').next();
    match first.map(number) {
        Some(Ok(ends)) if ends.saturating_mul(1000) <= store.micros() => Ok(counters),
        _ => Err(Value::error("NOMARKER")),
    }
}
