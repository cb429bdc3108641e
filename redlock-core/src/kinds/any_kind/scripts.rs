//! The scripts for locks of any kind, with their twins.

use crate::node::READERS_MARKER;
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Finds the first of several keys that exists.
pub(crate) static PEEK: Script =
    Script::whole("peek", include_str!("peek.lua"), peek).shaped("key+", "");

/// Takes a lock away from some of its holders. Operators use this script, and clients that lock do not.
pub(crate) static FORCE_RELEASE: Script = Script::whole(
    "force-release",
    include_str!("force_release.lua"),
    force_release,
)
.shaped("key+", "token+");

fn peek(store: &mut Store, keys: &[&[u8]], _: &[&[u8]]) -> Result<Value, Value> {
    for (place, key) in keys.iter().enumerate() {
        if let Some(value) = store.get(key)? {
            let head = format!("{place} {} ", store.pttl(key)).into_bytes();
            return Ok(Value::text([&head, value].concat()));
        }
    }
    Ok(Value::Nil)
}

fn force_release(store: &mut Store, keys: &[&[u8]], lost: &[&[u8]]) -> Result<Value, Value> {
    let mut left: Vec<Box<[u8]>> = Vec::new();
    for key in keys {
        match store.get(key) {
            Err(_) => {
                for token in lost {
                    store.zrem(key, token)?;
                }
                left.extend(store.entries(key)?.keys().cloned());
            }
            Ok(Some(value)) if lost.contains(&value) => drop(store.del(key)),
            Ok(Some(value)) if value != READERS_MARKER => left.push(value.into()),
            Ok(_) => {}
        }
    }
    for key in keys {
        if left.is_empty() && store.says(key, READERS_MARKER) {
            store.del(key);
        }
    }
    left.sort();
    Ok(Value::text(left.join(&b'\n')))
}
