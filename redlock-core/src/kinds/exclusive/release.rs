//! Giving locks back.

use crate::kinds::words::values;
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Deletes the keys of a lock that are ours.
pub(crate) static RELEASE: Script = Script::new(
    "release",
    Code::Loaded(include_str!("release.lua")),
    release,
)
.shaped("lock+", "token");

/// Deletes those of many keys that are ours.
pub(crate) static RELEASE_MANY: Script = Script::new(
    "release-many",
    Code::Loaded(include_str!("release_many.lua")),
    release_many,
)
.shaped("lock+", "token");

fn release(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let mut answer = -1;
    for key in keys {
        match store.get(key) {
            Ok(None) => {}
            Ok(held) if held == arguments.first().copied() => {
                store.del(key);
                answer = 1;
            }
            _ => answer = answer.max(0),
        }
    }
    Ok(Value::Int(answer))
}

fn release_many(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let mut answer = -1;
    let held = values(store, keys);
    for (key, held) in keys.iter().zip(held) {
        match held {
            None => {}
            Some(held) if Some(&*held) == arguments.first().copied() => {
                store.del(key);
                answer = 1;
            }
            Some(_) => answer = answer.max(0),
        }
    }
    Ok(Value::Int(answer))
}
