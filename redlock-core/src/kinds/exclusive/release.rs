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

/// Releases several locks of one key.
pub(crate) static RELEASE_EACH: Script = Script::new(
    "release-each",
    Code::Loaded(include_str!("release_each.lua")),
    release_each,
)
.shaped("lock+", "token+");

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

fn release_each(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = values(store, keys);
    let letters: Vec<u8> = held
        .iter()
        .enumerate()
        .map(|(place, held)| match held {
            None => b'-',
            Some(held) if Some(&**held) == arguments.get(place).copied() => b'1',
            Some(_) => b'0',
        })
        .collect();
    for (key, _) in keys
        .iter()
        .zip(&letters)
        .filter(|(_, letter)| **letter == b'1')
    {
        store.del(key);
    }
    if letters.iter().all(|letter| *letter == b'1') {
        return Ok(Value::Int(1));
    }
    Ok(Value::text(letters))
}
