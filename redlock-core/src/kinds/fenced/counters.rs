//! What scripts about fencing counters share: `counters.lua` and `hint.lua`.

use crate::kinds::words::number;
use crate::node::store::Store;
use crate::node::value::Value;

/// The least number that a counter cannot have, as a double cannot count on from it.
const TOO_LARGE: i64 = (1 << 53) - 1;

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
    let last = text.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    let has_digits = last.len() < text.len() && last.iter().all(u8::is_ascii_digit);
    let ends = number(last).filter(|_| has_digits);
    match ends {
        Some(ends) if ends.saturating_mul(1000) <= store.micros() => Ok(()),
        _ => Err(Value::error("NOMARKER")),
    }
}
