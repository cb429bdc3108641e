//! How twins read keys, arguments and values.

use crate::node::store::Store;
use crate::node::value::Value;

/// The key or argument at `place`. A command without it is refused.
pub(super) fn word<'a>(words: &[&'a [u8]], place: usize) -> Result<&'a [u8], Value> {
    let word = words.get(place).copied();
    word.ok_or_else(|| {
        Value::error("ERR Lua redis lib command arguments must be strings or integers")
    })
}

/// The number at `place`.
pub(super) fn integer(words: &[&[u8]], place: usize) -> Result<i64, Value> {
    let number = number(word(words, place)?);
    number.ok_or_else(|| Value::error("ERR value is not an integer or out of range"))
}

/// The number that `text` is. Lua reads more than this, such as `1e3` and `0x7`, which no script writes.
pub(super) fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `MGET`: a key that is no string counts as missing.
pub(super) fn values(store: &Store, keys: &[&[u8]]) -> Vec<Option<Box<[u8]>>> {
    let value = |key: &&[u8]| store.get(key).ok().flatten().map(Box::from);
    keys.iter().map(value).collect()
}
