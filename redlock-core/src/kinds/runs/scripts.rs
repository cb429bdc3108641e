//! The scripts of run records, with their twins. They are sent with their text: a client without a period never sends
//! them, and an answer `NOSCRIPT` would send the record after the release of its lock.

use crate::kinds::words::{integer, word};
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Sets keys to the record of a run.
pub(crate) static REMEMBER: Script =
    Script::whole("remember", include_str!("remember.lua"), remember)
        .shaped("run+", "text ttl life");

/// Reads the record of the run that is forgotten first.
pub(crate) static RECALL: Script =
    Script::whole("recall", include_str!("recall.lua"), recall).shaped("run+", "");

fn remember(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    for key in keys {
        let left = store.pttl(key);
        if left < integer(arguments, 1)? || left > integer(arguments, 2)? {
            store.del(key);
            store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
        }
    }
    Ok(Value::Int(1))
}

fn recall(store: &mut Store, keys: &[&[u8]], _: &[&[u8]]) -> Result<Value, Value> {
    let mut first: Option<(i64, &[u8])> = None;
    for key in keys {
        let (Ok(Some(value)), left @ 0..) = (store.get(key), store.pttl(key)) else {
            return Ok(Value::Nil);
        };
        if first.is_none_or(|(least, _)| left < least) {
            first = Some((left, value));
        }
    }
    let (least, record) = first.ok_or_else(|| Value::error("ERR no key"))?;
    let head = format!("{least} ").into_bytes();
    Ok(Value::text([&head, record].concat()))
}
