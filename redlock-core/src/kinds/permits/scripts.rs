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
    let (mut bits, mut is_taken) = (Vec::new(), false);
    for (key, held) in keys.iter().zip(&held) {
        let mut is_held = held.is_some();
        if !is_held && !is_taken {
            is_taken = store.set_nx(key, word(arguments, 0)?, integer(arguments, 1)?)?;
            is_held = !is_taken;
        }
        bits.push(if is_held { b'0' } else { b'1' });
    }
    let answer = |is_taken, left, value| {
        let bits = Value::text(bits);
        Ok(Value::List(vec![
            Value::Int(is_taken),
            bits,
            Value::Int(left),
            value,
        ]))
    };
    if is_taken {
        return answer(1, 0, Value::Nil);
    }
    let (mut least, mut value) = (-3, Value::Nil);
    for (key, held) in keys.iter().zip(held) {
        let Some(held) = held else { continue };
        let left = store.pttl(key);
        if least == -3 || left >= 0 && (least < 0 || left < least) {
            (least, value) = (left, Value::text(held));
        }
    }
    answer(0, least, value)
}
