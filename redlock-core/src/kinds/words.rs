//! How twins read keys, arguments and values.

use crate::node::store::Store;
use crate::node::value::Value;

/// The key or argument at `place`. A command without it is refused.
pub(super) fn word<'a>(words: &[&'a [u8]], place: usize) -> Result<&'a [u8], Value> {
    words.get(place).copied().map_or_else(missing, Ok)
}

/// The refusal of a command without a key or an argument.
pub(super) fn missing<T>() -> Result<T, Value> {
    let text = "ERR Lua redis lib command arguments must be strings or integers";
    Err(Value::error(text))
}

/// The number at `place`.
pub(super) fn integer(words: &[&[u8]], place: usize) -> Result<i64, Value> {
    parsed(word(words, place)?)
}

/// The number that `text` is.
pub(super) fn parsed(text: &[u8]) -> Result<i64, Value> {
    let refused = || Value::error("ERR value is not an integer or out of range");
    number(text).ok_or_else(refused)
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
