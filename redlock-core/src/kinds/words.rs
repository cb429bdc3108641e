//! How twins read arguments and values. The caller of a twin gives it the keys and arguments of its script's shape.

use crate::node::store::Store;
use crate::node::value::Value;

/// The number that an argument is. Lua reads more than this, such as `1e3` and `0x7`, which no script writes.
pub(super) fn number(text: &[u8]) -> Result<i64, Value> {
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|it| it.parse().ok());
    number.ok_or_else(|| Value::error("ERR value is not an integer or out of range"))
}

/// `MGET`: a key that is no string counts as missing.
pub(super) fn values(store: &Store, keys: &[&[u8]]) -> Vec<Option<Box<[u8]>>> {
    let value = |key: &&[u8]| store.get(key).ok().flatten().map(Box::from);
    keys.iter().map(value).collect()
}
