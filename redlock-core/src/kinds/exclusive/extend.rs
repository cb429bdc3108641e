//! Keeping a lock.

use crate::kinds::words::{integer, word};
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Lets the keys of a lock that is ours live on, and its counters.
pub(crate) static EXTEND: Script =
    Script::new("extend", Code::Loaded(include_str!("extend.lua")), extend)
        .shaped("lock+ [ counter+ ]", "token ttl [ life ]");

/// Puts the missing keys of a lock back.
pub(crate) static RESTORE: Script = Script::new(
    "restore",
    Code::Loaded(include_str!("restore.lua")),
    restore,
)
.shaped("lock+", "token ttl");

fn extend(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let locks = if arguments.len() > 2 {
        keys.len() / 2
    } else {
        keys.len()
    };
    let (locks, counters) = keys.split_at(locks);
    let mut is_gone = false;
    for key in locks {
        match store.get(key) {
            Err(_) => return Ok(Value::Int(0)),
            Ok(None) => is_gone = true,
            Ok(held) if held == arguments.first().copied() => {}
            Ok(Some(held)) => return Ok(Value::text(held)),
        }
    }
    if is_gone {
        return Ok(Value::Int(-1));
    }
    for key in locks {
        live(store, key, integer(arguments, 1)?);
    }
    for key in counters {
        live(store, key, integer(arguments, 2)?);
    }
    Ok(Value::Int(1))
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
