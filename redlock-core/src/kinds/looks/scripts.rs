//! The scripts about locks of any kind, with their twins.

use crate::kinds::readers_writers::INTENTS;
use crate::model::resource::RESERVED_PREFIX;
use crate::node::READERS_MARKER;
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Finds the first of several keys that exists.
pub(crate) static PEEK: Script =
    Script::whole("peek", include_str!("peek.lua"), peek).shaped("key+", "");

/// Deletes what some holders have. Operators do that, not clients that lock.
pub(crate) static FORCE_RELEASE: Script = Script::whole(
    "force-release",
    include_str!("force_release.lua"),
    force_release,
)
.shaped("key+", "token+");

fn peek(store: &mut Store, keys: &[&[u8]], _: &[&[u8]]) -> Result<Value, Value> {
    for (place, key) in keys.iter().enumerate() {
        if let Some(value) = store.get(key)? {
            let head = format!("{place} {} ", store.pttl(key)).into_bytes();
            return Ok(Value::text([&head, value].concat()));
        }
    }
    Ok(Value::Nil)
}

fn force_release(store: &mut Store, keys: &[&[u8]], lost: &[&[u8]]) -> Result<Value, Value> {
    let (mut left, mut has_readers) = (Vec::new(), false);
    let entry = |letter: &[u8], token: &[u8]| [letter, token].concat();
    for key in keys {
        let Ok(value) = store.get(key) else {
            for token in lost {
                store.zrem(key, token)?;
            }
            let live = store
                .entries(key)?
                .iter()
                .filter(|(_, ends)| **ends > store.millis());
            let known = left.len();
            left.extend(live.map(|(reader, _)| entry(b"h", reader)));
            has_readers |= left.len() > known;
            continue;
        };
        match value {
            Some(value) if lost.contains(&value) => {
                store.del(key);
            }
            Some(value) if is_waiting(key) => left.push(entry(b"w", value)),
            Some(value) if value != READERS_MARKER => left.push(entry(b"h", value)),
            _ => {}
        }
    }
    for key in keys {
        if !has_readers && store.says(key, READERS_MARKER) {
            store.del(key);
        }
    }
    left.sort();
    Ok(Value::text(left.join(&b'\n')))
}

/// True if `key` has the id of a waiting writer.
fn is_waiting(key: &[u8]) -> bool {
    let beginning = [RESERVED_PREFIX, INTENTS].concat();
    key.windows(beginning.len()).any(|part| part == beginning)
}
