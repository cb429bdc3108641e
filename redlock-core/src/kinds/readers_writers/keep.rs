//! Keeping a reader in.

use super::entries::{is_in, settle};
use super::state::{COUNTER, Held, READERS, held};
use crate::kinds::exclusive::extend::live;
use crate::kinds::fenced::counters::{kept_for, stands};
use crate::kinds::words::{integer, word};
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Lets a reader's entry live on.
pub(crate) static EXTEND_READ: Script = Script::new(
    "extend-read",
    Code::Loaded(concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        include_str!("extend_read.lua"),
    )),
    extend_read,
)
.shaped("lock readers intent turn [ counter ]", "token ttl [ life ]");

/// Raises the counter of a reader that is in to its fencing token.
pub(crate) static CONFIRM_READ: Script = Script::new(
    "confirm-read",
    Code::Loaded(concat!(
        include_str!("../fenced/counters.lua"),
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        include_str!("confirm_read.lua"),
    )),
    confirm_read,
)
.shaped("lock readers intent turn counter", "token hint life");

/// Puts a reader's entry back.
pub(crate) static RESTORE_READ: Script = Script::new(
    "restore-read",
    Code::Loaded(concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        include_str!("restore_read.lua"),
    )),
    restore_read,
)
.shaped("lock readers intent turn", "token ttl");

fn extend_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Held::By(holder) = held {
        return Ok(Value::Text(holder));
    }
    if !is_in(store, keys, arguments, &held)? {
        return Ok(Value::Int(-1));
    }
    let till = store.millis().saturating_add(integer(arguments, 1)?);
    settle(store, keys, arguments, &held, Some(till))?;
    if arguments.len() > 2 {
        live(store, word(keys, COUNTER)?, integer(arguments, 2)?);
    }
    Ok(Value::Int(1))
}

fn confirm_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Held::By(_) = held {
        return Ok(Value::Int(0));
    }
    if !is_in(store, keys, arguments, &held)? {
        return Ok(Value::Int(-1));
    }
    let (counter, count) = (word(keys, COUNTER)?, integer(arguments, 1)?);
    if stands(store, counter) < count {
        let life = kept_for(store, count, integer(arguments, 2)?);
        store.set(counter, word(arguments, 1)?, life)?;
    }
    Ok(Value::Int(1))
}

fn restore_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Held::By(_) = held {
        return Ok(Value::Int(0));
    }
    if held == Held::Nothing {
        store.del(word(keys, READERS)?);
    }
    let till = store.millis().saturating_add(integer(arguments, 1)?);
    settle(store, keys, arguments, &held, Some(till))?;
    Ok(Value::Int(1))
}
