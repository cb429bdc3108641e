//! The script of permits, with its twin.

use crate::kinds::words::{integer, values, word};
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Takes the first free one of several permits.
pub(crate) static ACQUIRE_PERMIT: Script = Script::loaded(
    "acquire-permit",
    include_str!("acquire_permit.lua"),
    acquire_permit,
)
.shaped("lock+", "token ttl");

fn acquire_permit(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    if keys.is_empty() {
        return Ok(Value::Int(0));
    }
    let held = values(store, keys);
    for (place, (key, held)) in (1..).zip(keys.iter().zip(&held)) {
        let is_free = held.is_none();
        if is_free && store.set_nx(key, word(arguments, 0)?, integer(arguments, 1)?)? {
            return Ok(Value::Int(place));
        }
    }
    let (mut least, mut value) = (-3, Value::Nil);
    for (key, held) in keys.iter().zip(held) {
        let Some(held) = held else { continue };
        let left = store.pttl(key);
        if least == -3 || left >= 0 && (least < 0 || left < least) {
            (least, value) = (left, Value::text(held));
        }
    }
    Ok(Value::List(vec![Value::Int(least), value]))
}
