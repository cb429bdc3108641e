//! Letting readers and writers out.

use super::acquire::withdraw;
use super::entries::settle;
use super::state::{Held, INTENT, LOCK, READERS, TURNS, held};
use crate::kinds::words::word;
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Deletes a reader's entry or a writer's key.
pub(crate) static RELEASE_SHARED: Script = Script::new(
    "release-shared",
    Code::Loaded(concat!(
        include_str!("held.lua"),
        include_str!("release_shared.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        "settle()\nreturn 1\n",
    )),
    release_shared,
)
.shaped("lock readers [ intent turn? ]", "token [ name ]");

fn release_shared(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Some(name) = arguments.get(1) {
        if let Some(key) = keys.get(TURNS) {
            let _ = store.zrem(key, name);
        } else if keys.len() > INTENT {
            withdraw(store, keys, name);
        }
    }
    let token = word(arguments, 0)?;
    if held == Held::By(token.into()) {
        store.del(word(keys, LOCK)?);
        return Ok(Value::Int(1));
    }
    if store.zrem(word(keys, READERS)?, token)? {
        if held == Held::Readers {
            settle(store, keys, arguments, &held, None)?;
        }
        return Ok(Value::Int(1));
    }
    Ok(Value::Int(if held == Held::Nothing { -1 } else { 0 }))
}
