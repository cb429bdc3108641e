//! Who has a lock.

use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Finds the first of several keys that exists. A client that only locks one name never sends it.
pub(crate) static PEEK: Script =
    Script::new("peek", Code::Whole(include_str!("peek.lua")), peek).shaped("key+", "");

fn peek(store: &mut Store, keys: &[&[u8]], _: &[&[u8]]) -> Result<Value, Value> {
    for (place, key) in keys.iter().enumerate() {
        if let Some(value) = store.get(key)? {
            let head = format!("{place} {} ", store.pttl(key)).into_bytes();
            return Ok(Value::text([&head, value].concat()));
        }
    }
    Ok(Value::Nil)
}
