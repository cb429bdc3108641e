//! The script of permits, with its twin.

use crate::node::script::Script;
use crate::node::store::{Store, parse_integer};
use crate::node::value::Value;

/// Takes the first free one of several permits.
pub(crate) static ACQUIRE_PERMIT: Script = Script::loaded(
    "acquire-permit",
    include_str!("acquire_permit.lua"),
    acquire_permit,
)
.shaped("lock+", "token ttl");

fn acquire_permit(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = store.mget(keys);
    for (place, (key, held)) in (1..).zip(keys.iter().zip(&held)) {
        if held.as_deref() == Some(arguments[0]) {
            return Ok(Value::text(arguments[0]));
        }
        let is_free = held.is_none();
        if is_free && store.set_nx(key, arguments[0], parse_integer(arguments[1])?)? {
            return Ok(Value::Int(place));
        }
    }
    let holder = held.into_iter().flatten().next();
    Ok(holder.map_or(Value::Int(0), Value::Text))
}
