//! The scripts of plain locks, with their twins.

use crate::kinds::words::{integer, values, word};
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Takes the lock on one key. With `GET`, a refusal has the holder's token.
pub(crate) static SET: Script =
    Script::command("set", "SET", set).shaped("lock", "token NX PX ttl GET");

/// Takes the locks on several keys, all or none.
pub(crate) static ACQUIRE_ALL: Script =
    Script::loaded("acquire-all", include_str!("acquire_all.lua"), acquire_all)
        .shaped("lock+", "token ttl");

/// Lets the keys of a lock that is ours live on, and its counters.
pub(crate) static EXTEND: Script = Script::loaded(
    "extend",
    concat!(include_str!("ours.lua"), include_str!("extend.lua")),
    extend,
)
.shaped("lock+ [ counter+ ]", "token ttl [ life ]");

/// Puts the missing keys of a lock back.
pub(crate) static RESTORE: Script =
    Script::loaded("restore", include_str!("restore.lua"), restore).shaped("lock+", "token ttl");

/// Deletes the keys of a lock that are ours.
pub(crate) static RELEASE: Script =
    Script::loaded("release", include_str!("release.lua"), release).shaped("lock+", "token");

/// Releases several locks of one key.
pub(crate) static RELEASE_EACH: Script = Script::loaded(
    "release-each",
    include_str!("release_each.lua"),
    release_each,
)
.shaped("lock+", "token+");

fn set(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (key, token, ttl) = (word(keys, 0)?, word(arguments, 0)?, integer(arguments, 3)?);
    let held = store.get(key).map(|held| held.map(Value::text));
    store.set_nx(key, token, ttl)?;
    Ok(held?.unwrap_or(Value::Nil))
}

fn acquire_all(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    free(store, keys)?;
    for key in keys {
        store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
    }
    Ok(Value::Int(1))
}

/// Ends a script unless all keys are free.
pub(crate) fn free(store: &Store, keys: &[&[u8]]) -> Result<(), Value> {
    for key in keys {
        match store.get(key) {
            Err(_) => return Err(Value::Int(0)),
            Ok(Some(held)) => return Err(Value::text(held)),
            Ok(None) => {}
        }
    }
    Ok(())
}

fn extend(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, counters) = keys.split_at(ours(store, keys, arguments)?);
    for key in locks {
        live(store, key, integer(arguments, 1)?);
    }
    for key in counters {
        live(store, key, integer(arguments, 2)?);
    }
    Ok(Value::Int(1))
}

/// `ours.lua`: ends a script unless all locks are ours. Returns how many of the keys are locks and not counters.
pub(crate) fn ours(store: &Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<usize, Value> {
    let has_counters = arguments.len() > 2;
    let count = if has_counters {
        keys.len() / 2
    } else {
        keys.len()
    };
    let mut is_gone = false;
    for key in &keys[..count] {
        match store.get(key) {
            Err(_) => return Err(Value::Int(0)),
            Ok(None) => is_gone = true,
            Ok(held) if held == arguments.first().copied() => {}
            Ok(Some(held)) => return Err(Value::text(held)),
        }
    }
    if is_gone {
        Err(Value::Int(-1))
    } else {
        Ok(count)
    }
}

fn restore(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let token = arguments.first().copied();
    let is_anothers =
        |key: &&[u8]| !matches!(store.get(key), Ok(held) if held.is_none() || held == token);
    if keys.iter().any(is_anothers) {
        return Ok(Value::Int(0));
    }
    for key in keys {
        let ttl = integer(arguments, 1)?;
        if !store.set_nx(key, word(arguments, 0)?, ttl)? {
            live(store, key, ttl);
        }
    }
    Ok(Value::Int(1))
}

/// Lets a key live for at least `ttl` ms.
pub(crate) fn live(store: &mut Store, key: &[u8], ttl: i64) {
    if store.pttl(key) < ttl {
        store.pexpire(key, ttl);
    }
}

fn release(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = values(store, keys);
    let deleted = keys
        .iter()
        .zip(held)
        .map(|(key, held)| delete(store, key, held, arguments.first()));
    Ok(Value::Int(deleted.max().unwrap_or(-1)))
}

/// Deletes a key that holds `token`: 1. Otherwise 0 if it holds another value, and -1 if it is missing.
fn delete(store: &mut Store, key: &[u8], held: Option<Box<[u8]>>, token: Option<&&[u8]>) -> i64 {
    match held {
        None => -1,
        Some(held) if Some(&&*held) == token => {
            store.del(key);
            1
        }
        Some(_) => 0,
    }
}

fn release_each(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = values(store, keys);
    let mut answers = Vec::new();
    for (place, (key, held)) in keys.iter().zip(held).enumerate() {
        let token = arguments.get(place);
        answers.push(Value::Int(delete(store, key, held, token)));
    }
    if answers.iter().all(|answer| *answer == Value::Int(1)) {
        return Ok(Value::Int(1));
    }
    Ok(Value::List(answers))
}
