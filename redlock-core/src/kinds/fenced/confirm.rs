//! Confirming a fencing token.

use super::counters::{kept_for, stands};
use crate::kinds::words::{integer, word};
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Raises the counters of a lock that is ours to its fencing token.
pub(crate) static CONFIRM: Script = Script::new(
    "confirm",
    Code::Loaded(concat!(
        include_str!("counters.lua"),
        include_str!("confirm.lua")
    )),
    confirm,
)
.shaped("lock+ counter+", "token hint life");

fn confirm(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, counters) = keys.split_at(keys.len() / 2);
    let mut is_gone = false;
    for key in locks {
        match store.get(key) {
            Ok(None) => is_gone = true,
            Ok(held) if held == arguments.first().copied() => {}
            _ => return Ok(Value::Int(0)),
        }
    }
    if is_gone {
        return Ok(Value::Int(-1));
    }
    let count = integer(arguments, 1)?;
    let life = kept_for(store, count, integer(arguments, 2)?);
    for key in counters {
        if stands(store, key) < count {
            store.set(key, word(arguments, 1)?, life)?;
        }
    }
    Ok(Value::Int(1))
}
