//! Taking a lock with a fencing token.

use super::counters::{check, clamped, kept_for, stands};
use crate::kinds::words::{integer, word};
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Takes the locks on several keys, all or none, and raises their counters.
pub(crate) static ACQUIRE_FENCED: Script = Script::new(
    "acquire-fenced",
    Code::Loaded(concat!(
        include_str!("counters.lua"),
        include_str!("hint.lua"),
        include_str!("acquire_fenced.lua"),
    )),
    acquire_fenced,
)
.shaped("lock+ counter+ marker?", "token ttl hint window life");

fn acquire_fenced(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, rest) = keys.split_at(keys.len() / 2);
    let (counters, marker) = rest.split_at(locks.len());
    for marker in marker {
        check(store, marker)?;
    }
    for key in locks {
        match store.get(key) {
            Err(_) => return Ok(Value::Int(0)),
            Ok(Some(held)) => return Ok(Value::text(held)),
            Ok(None) => {}
        }
    }
    let mut count = clamped(store, integer(arguments, 2)?, integer(arguments, 3)?);
    for key in counters {
        count = count.max(stands(store, key) + 2);
    }
    for key in locks {
        store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
    }
    let life = kept_for(store, count, integer(arguments, 4)?);
    for key in counters {
        store.set(key, count.to_string().as_bytes(), life)?;
    }
    Ok(Value::Int(count))
}
