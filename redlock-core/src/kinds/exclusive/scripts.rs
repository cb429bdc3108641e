//! The scripts of locks that one holder has, with their twins.

use crate::kinds::fenced::{counted, counters};
use crate::kinds::words::{number, values};
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Takes the lock on one key. With `GET`, a refusal has the holder's token.
pub(crate) static SET: Script =
    Script::command("set", "SET", set).shaped("lock", "token NX PX ttl GET");

/// Takes the locks on several keys, all or none, and raises their counters.
pub(crate) static ACQUIRE_ALL: Script = Script::loaded(
    "acquire-all",
    concat!(
        include_str!("locks.lua"),
        include_str!("../fenced/counters.lua"),
        include_str!("acquire_all.lua"),
    ),
    acquire_all,
)
.shaped(
    "lock+ [ counter+ marker? ]",
    "token ttl [ hint life window ]",
);

/// Lets the keys of a lock that is ours live on, or puts them back, and raises its counters.
pub(crate) static EXTEND: Script = Script::loaded(
    "extend",
    concat!(
        include_str!("locks.lua"),
        include_str!("../fenced/counters.lua"),
        include_str!("extend.lua"),
    ),
    extend,
)
.shaped("lock+ [ counter+ ]", "token ttl [ hint life ] back?");

/// Deletes the keys of a lock that are ours, or those of several locks with a token each.
pub(crate) static RELEASE: Script =
    Script::loaded("release", include_str!("release.lua"), release).shaped("lock+", "token+");

fn set(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = store.get(keys[0]).map(|held| held.map(Value::text));
    store.set_nx(keys[0], arguments[0], number(arguments[3])?)?;
    Ok(held?.unwrap_or(Value::Nil))
}

fn acquire_all(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, gone) = locks(store, keys, arguments)?;
    let counters = counters(store, &keys[locks..], locks)?;
    if gone < locks {
        return Ok(Value::text(arguments[0]));
    }
    let count = counted(store, counters, 2, &arguments[2..])?;
    for key in &keys[..locks] {
        store.set(key, arguments[0], number(arguments[1])?)?;
    }
    Ok(Value::Int(count))
}

fn extend(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, gone) = locks(store, keys, arguments)?;
    if gone > 0 && !arguments.ends_with(&[b"back"]) {
        return Ok(Value::Int(-1));
    }
    for key in &keys[..locks] {
        let ttl = number(arguments[1])?;
        if !store.exists(key) {
            store.set(key, arguments[0], ttl)?;
        }
        live(store, key, ttl);
    }
    counted(
        store,
        &keys[locks..],
        0,
        &arguments[2..arguments.len().min(4)],
    )?;
    Ok(Value::Int(1))
}

/// `locks.lua`: how many keys are locks, and how many of these are missing. Ends a script at another holder's lock.
fn locks(store: &Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<(usize, usize), Value> {
    let has_counters = arguments.len() > 3;
    let (count, mut gone) = (keys.len() / if has_counters { 2 } else { 1 }, 0);
    for key in &keys[..count] {
        match store.get(key) {
            Err(_) => return Err(Value::Int(0)),
            Ok(None) => gone += 1,
            Ok(Some(held)) if held == arguments[0] => {}
            Ok(Some(held)) => return Err(Value::text(held)),
        }
    }
    Ok((count, gone))
}

/// Lets a key live for at least `ttl` ms.
pub(crate) fn live(store: &mut Store, key: &[u8], ttl: i64) {
    if store.pttl(key) < ttl {
        store.pexpire(key, ttl);
    }
}

fn release(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let mut answers = Vec::new();
    for (place, held) in values(store, keys).into_iter().enumerate() {
        let token = arguments.get(place).or(arguments.first());
        answers.push(match held {
            None => -1,
            Some(held) if Some(&&*held) == token => {
                store.del(keys[place]);
                1
            }
            Some(_) => 0,
        });
    }
    let (lowest, highest) = (answers.iter().min(), answers.iter().max());
    Ok(match lowest {
        Some(..1) if arguments.len() > 1 => {
            Value::List(answers.into_iter().map(Value::Int).collect())
        }
        _ => Value::Int(highest.copied().unwrap_or(1)),
    })
}
