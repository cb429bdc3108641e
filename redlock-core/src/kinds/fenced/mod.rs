//! Fencing counters, which nodes keep next to the keys of locks.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::node::hash_slot::{AuxiliaryKeys, auxiliary_keys};
use crate::node::store::{Store, parse_integer};
use crate::node::value::Value;
use crate::node::{Argument, WIRE_FORMAT};
use crate::quorum::fencing::{COUNTER_IDLE, HINT_WINDOW};

/// The prefix of the keys of fencing counters, after `redlock:`.
pub(super) const COUNTERS: &[u8] = b"fence:";

/// The bound of counters. Every counter is lower, because a double does not count reliably beyond this number.
const TOO_LARGE: i64 = (1 << 53) - 1;

/// The length of a period. The acquisitions whose numbers belong to one period may keep a counter's expiry.
const PERIOD: Duration = Duration::from_secs(600);

/// The usual life of a counter. At the end of a period, [`COUNTER_IDLE`] is left of what the call gave that began it.
const USUAL_LIFE: Duration = COUNTER_IDLE.saturating_add(PERIOD);

/// The keys of the fencing counters of a lock.
pub(crate) struct Counters(Resource);

impl Counters {
    /// Returns the counters of the lock on `keys`, with the key prefix `prefix`.
    pub(crate) fn new(keys: &Resource, prefix: &[u8]) -> Self {
        Self(auxiliary_keys(keys, prefix, COUNTERS))
    }

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

    /// Returns the last arguments of an extension that raises the counters to at least `count`.
    pub(crate) fn extension_args(count: u64, ttl: Duration) -> [Argument; 2] {
        let life = COUNTER_IDLE.max(ttl.saturating_mul(2));
        let life = life.saturating_add(PERIOD);
        [Argument::text(count), Argument::millis(life)]
    }

    /// Returns the last arguments of an acquisition, with its `hint`.
    pub(crate) fn acquisition_args(hint: u64, ttl: Duration) -> [Argument; 3] {
        let [hint, life] = Self::extension_args(hint, ttl);
        let window = Argument::text(HINT_WINDOW.as_micros());
        [hint, life, window]
    }
}

/// The numbers of a lock's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// The number of all counters now.
    pub(super) count: i64,
    /// The highest number before, or zero.
    pub(super) before: i64,
}

/// Raises the counters to one number. Without counters, the number is 1. As in `counters.lua`, `numbers` are `least`,
/// `ttl` and `window`.
pub(super) fn raise_counters(
    store: &mut Store,
    counters: &[&[u8]],
    step: i64,
    numbers: &[&[u8]],
) -> Result<Counted, Value> {
    if counters.is_empty() {
        return Ok(Counted {
            count: 1,
            before: 0,
        });
    }
    let (now, mut count) = (store.micros(), parse_integer(numbers[0])?);
    let has_window = numbers.len() > 2;
    let mut latest = i64::MIN;
    if let Some(window) = numbers.get(2) {
        let window = parse_integer(window)?;
        latest = now.saturating_add(window);
        count = count.max(now.saturating_sub(window)).min(latest);
    }
    let found: Vec<_> = counters.iter().map(|key| number_of(store, key)).collect();
    let before = found.iter().copied().max().unwrap_or(0);
    count = count.max(step + before);
    let ahead = count.saturating_sub(now).max(0);
    let ahead = ahead / 1000 + i64::from(ahead % 1000 > 0);
    let life = parse_integer(numbers[1])?;
    let keeps = u128::from(life.unsigned_abs()) <= USUAL_LIFE.as_millis() && count <= latest;
    let life = life.saturating_add(ahead);
    let text = count.to_string();
    for (key, stands) in counters.iter().zip(found) {
        if keeps && stands > 0 && period_of(stands) == period_of(count) {
            store.set_keeping(key, text.as_bytes())?;
        } else if has_window || (count > 0 && stands != count) {
            store.set(key, text.as_bytes(), life.max(store.pttl(key)))?;
        } else {
            store.ensure_ttl(key, life);
        }
    }
    Ok(Counted { count, before })
}

/// Returns the number of the counter, or zero if it counts as missing.
fn number_of(store: &Store, key: &[u8]) -> i64 {
    let digits = store.get(key).ok().flatten().unwrap_or_default();
    let stands = parse_integer(digits).unwrap_or(0);
    if (0..TOO_LARGE).contains(&stands) {
        stands
    } else {
        0
    }
}

/// Returns the period to which the number belongs.
fn period_of(number: i64) -> u128 {
    u128::from(number.unsigned_abs()) / PERIOD.as_micros()
}

/// Checks the node's marker, if `keys` has one after its `count` counters. Returns the counters. A missing marker,
/// another wire format, or a quarantine that lasts is an error, as in `counters.lua`.
pub(super) fn check_marker<'a>(
    store: &Store,
    keys: &'a [&'a [u8]],
    count: usize,
) -> Result<&'a [&'a [u8]], Value> {
    let Some((counters, [marker])) = keys.split_at_checked(count) else {
        return Ok(keys);
    };
    let text = store.get(marker).ok().flatten().unwrap_or_default();
    let text = text.strip_prefix(format!("{WIRE_FORMAT} ").as_bytes());
    let first = text.and_then(|it| it.split(|byte| *byte == b' ').next());
    match first.map(parse_integer) {
        Some(Ok(ends)) if ends.saturating_mul(1000) <= store.micros() => Ok(counters),
        _ => Err(Value::error("NOMARKER")),
    }
}
