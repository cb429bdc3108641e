//! Taking a lock.

use crate::kinds::words::{integer, word};
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Takes the lock on one key. With `GET`, a refusal has the holder's token.
pub(crate) static SET: Script =
    Script::new("set", Code::Command("SET"), set).shaped("lock", "token NX PX ttl GET");

/// The remaining ms of one key, for any holder.
pub(crate) static PTTL: Script =
    Script::new("pttl", Code::Command("PTTL"), pttl).shaped("lock", "");

/// Takes the locks on several keys, all or none.
pub(crate) static ACQUIRE_ALL: Script = Script::new(
    "acquire-all",
    Code::Loaded(include_str!("acquire_all.lua")),
    acquire_all,
)
.shaped("lock+", "token ttl");

fn set(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (key, token, ttl) = (word(keys, 0)?, word(arguments, 0)?, integer(arguments, 3)?);
    let held = store.get(key).map(|held| held.map(Value::text));
    store.set_nx(key, token, ttl)?;
    Ok(held?.unwrap_or(Value::Nil))
}

fn pttl(store: &mut Store, keys: &[&[u8]], _: &[&[u8]]) -> Result<Value, Value> {
    Ok(Value::Int(store.pttl(word(keys, 0)?)))
}

fn acquire_all(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    for key in keys {
        match store.get(key) {
            Err(_) => return Ok(Value::Int(0)),
            Ok(Some(held)) => return Ok(Value::text(held)),
            Ok(None) => {}
        }
    }
    for key in keys {
        store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
    }
    Ok(Value::Int(1))
}
