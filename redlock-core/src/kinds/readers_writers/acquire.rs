//! Letting readers and writers in.

use super::state::{COUNTER, Held, INTENT, LOCK, MARKER, READERS, TURN, TURNS, WAITING};
use super::state::{advise, held, says};
use crate::kinds::fenced::counters::{check, clamped, kept_for, stands};
use crate::kinds::words::{integer, word};
use crate::node::READERS_MARKER;
use crate::node::script::{Code, Script};
use crate::node::store::Store;
use crate::node::value::Value;

/// Lets a reader in.
pub(crate) static ACQUIRE_READ: Script = Script::new(
    "acquire-read",
    Code::Loaded(concat!(
        include_str!("../denied.lua"),
        "local function commands(key) return {\n",
        include_str!("commands.lua"),
        "} end\n\n",
        include_str!("../fenced/counters.lua"),
        include_str!("../fenced/hint.lua"),
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("counted.lua"),
        include_str!("acquire_read.lua"),
    )),
    acquire_read,
)
.trying()
.shaped(
    "lock readers intent turn [ counter marker? ]",
    "token ttl advice [ hint window life ] tried?",
);

/// Lets a writer in.
pub(crate) static ACQUIRE_WRITE: Script = Script::new(
    "acquire-write",
    Code::Loaded(concat!(
        include_str!("../fenced/counters.lua"),
        include_str!("../fenced/hint.lua"),
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("counted.lua"),
        include_str!("acquire_write.lua"),
    )),
    acquire_write,
)
.shaped(
    "lock readers intent turn [ counter marker? ]",
    "token ttl advice id [ hint window life ]",
);

fn acquire_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Some(marker) = keys.get(MARKER) {
        check(store, marker)?;
    }
    let is_turn = says(store, keys, TURNS, TURN);
    let intent = keys.get(INTENT).map(|key| store.get(key));
    let why = match (&held, intent) {
        (Held::By(holder), _) => Some([b"=", &**holder].concat()),
        (_, Some(Ok(Some(writer)))) if !is_turn => Some([b"i", writer].concat()),
        _ => None,
    };
    if let Some(why) = why {
        if word(arguments, 2) != Ok(b"0") && !is_turn {
            advise(store, keys, TURNS, WAITING, arguments);
        }
        return Ok(Value::text(why));
    }
    let (key, readers) = (word(keys, LOCK)?, || word(keys, READERS));
    if arguments.last().copied() != Some(b"tried") {
        store.need_memory()?;
        store.zrem(readers()?, b"")?;
    }
    let count = counted(store, keys, 0, arguments.get(3..).unwrap_or_default())?;
    let (token, mut life) = (word(arguments, 0)?, integer(arguments, 1)?);
    let now = store.millis();
    let ends = now.saturating_add(life);
    if held == Held::Readers {
        let readers = readers()?;
        store.zadd(readers, ends, token)?;
        store.zremrangebyscore(readers, now)?;
        let last = store.highest(readers)?;
        life = life.max(last.ok_or_else(|| Value::error("ERR no entry"))? - now);
        store.pexpire(key, life);
    } else {
        store.set(key, READERS_MARKER, life)?;
        store.del(readers()?);
        store.zadd(readers()?, ends, token)?;
    }
    store.pexpire(readers()?, life);
    Ok(Value::Int(count))
}

fn acquire_write(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Some(marker) = keys.get(MARKER) {
        check(store, marker)?;
    }
    let id = arguments.get(3).copied();
    if let Some(why) = in_the_way(store, keys, &held)? {
        let intent = keys.get(INTENT).map(|key| store.get(key));
        let is_ours = matches!(intent, Some(Ok(known)) if known.is_none() || known == id);
        if let Some(id) = id
            && word(arguments, 2) != Ok(b"0")
            && is_ours
        {
            advise(store, keys, INTENT, id, arguments);
        }
        return Ok(Value::text(why));
    }
    let count = counted(store, keys, 2, arguments.get(4..).unwrap_or_default())?;
    store.set(
        word(keys, LOCK)?,
        word(arguments, 0)?,
        integer(arguments, 1)?,
    )?;
    store.del(word(keys, READERS)?);
    withdraw(store, keys, id);
    Ok(Value::Int(count))
}

/// What keeps a writer out.
fn in_the_way(store: &mut Store, keys: &[&[u8]], held: &Held) -> Result<Option<Vec<u8>>, Value> {
    match held {
        Held::By(holder) => return Ok(Some([b"=", &**holder].concat())),
        Held::Readers => {
            let readers = word(keys, READERS)?;
            store.zremrangebyscore(readers, store.millis())?;
            if !store.entries(readers)?.is_empty() {
                return Ok(Some(b"r".into()));
            }
        }
        Held::Nothing => {}
    }
    Ok(says(store, keys, TURNS, TURN).then(|| b"t".into()))
}

/// `counted.lua`: raises the counter, if there is one. The numbers are hint, window and ttl.
fn counted(store: &mut Store, keys: &[&[u8]], step: i64, numbers: &[&[u8]]) -> Result<i64, Value> {
    let Some(counter) = keys.get(COUNTER) else {
        return Ok(1);
    };
    let hint = clamped(store, integer(numbers, 0)?, integer(numbers, 1)?);
    let count = hint.max(stands(store, counter) + step);
    let life = kept_for(store, count, integer(numbers, 2)?);
    store.set(counter, count.to_string().as_bytes(), life)?;
    Ok(count)
}

/// Deletes the intent of the writer with this id.
pub(super) fn withdraw(store: &mut Store, keys: &[&[u8]], id: Option<&[u8]>) {
    if let (Some(key), Some(id)) = (keys.get(INTENT), id)
        && !id.is_empty()
        && store.says(key, id)
    {
        store.del(key);
    }
}
