//! The scripts that let readers and writers in and out, with their twins.

use super::state::{COUNTER, DUE, Held, INTENT, LOCK, LONGEST_TURN, MARKER, READERS, TURNS};
use super::state::{held, is_in, is_turn, settle, withdraw};
use crate::kinds::exclusive::scripts::live;
use crate::kinds::fenced::scripts::{check, clamped, kept_for, stands};
use crate::kinds::words::{integer, word};
use crate::node::READERS_MARKER;
use crate::node::script::Script;
use crate::node::store::Store;
use crate::node::value::Value;

/// Declares the function `counted`, which raises the counter, but only in a call with a counter: declaring a function
/// costs a server as much as a command.
macro_rules! counted {
    () => {
        concat!(
            "local counted\nif #KEYS > 4 then\n",
            include_str!("../fenced/counters.lua"),
            include_str!("../fenced/hint.lua"),
            include_str!("counted.lua"),
            "end\n\n",
        )
    };
}

/// Lets a reader in.
pub(crate) static ACQUIRE_READ: Script = Script::loaded(
    "acquire-read",
    concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        counted!(),
        include_str!("turn.lua"),
        include_str!("refuse_read.lua"),
        // A user without one of the commands would leave entries behind.
        "if ARGV[#ARGV] ~= 'tried' then\n",
        include_str!("../denied.lua"),
        "local key = KEYS[2]\nlocal missing, other = denied({\n",
        include_str!("commands.lua"),
        "})\nif missing ~= '' then return {err = 'NOPERM its ACL has to allow' .. missing} end\n",
        "if other then return other end\nend\n",
        include_str!("acquire_read.lua"),
    ),
    acquire_read,
)
.trying()
.shaped(
    "lock readers intent turn [ counter marker? ]",
    "token ttl advice name last [ hint window life ] tried?",
);

/// Lets a writer in.
pub(crate) static ACQUIRE_WRITE: Script = Script::loaded(
    "acquire-write",
    concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        counted!(),
        include_str!("turn.lua"),
        include_str!("acquire_write.lua"),
    ),
    acquire_write,
)
.shaped(
    "lock readers intent turn [ counter marker? ]",
    "token ttl advice name [ hint window life ]",
);

/// Lets a reader's entry live on.
pub(crate) static EXTEND_READ: Script = Script::loaded(
    "extend-read",
    concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        include_str!("extend_read.lua"),
    ),
    extend_read,
)
.shaped("lock readers intent turn [ counter ]", "token ttl [ life ]");

/// Raises the counter of a reader that is in to its fencing token.
pub(crate) static CONFIRM_READ: Script = Script::loaded(
    "confirm-read",
    concat!(
        include_str!("../fenced/counters.lua"),
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        include_str!("confirm_read.lua"),
    ),
    confirm_read,
)
.shaped("lock readers intent turn counter", "token hint life");

/// Puts a reader's entry back.
pub(crate) static RESTORE_READ: Script = Script::loaded(
    "restore-read",
    concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        include_str!("restore_read.lua"),
    ),
    restore_read,
)
.shaped("lock readers intent turn", "token ttl");

/// Deletes a reader's entry or a writer's key.
pub(crate) static RELEASE_SHARED: Script = Script::loaded(
    "release-shared",
    concat!(
        include_str!("held.lua"),
        include_str!("release_shared.lua"),
        include_str!("clock.lua"),
        include_str!("entries.lua"),
        "settle()\nreturn 1\n",
    ),
    release_shared,
)
.shaped("lock readers [ intent turn? ]", "token [ name ]");

fn acquire_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Some(marker) = keys.get(MARKER) {
        check(store, marker)?;
    }
    let intent = keys.get(INTENT).map(|key| store.get(key));
    let why = match (&held, intent) {
        (Held::By(holder), _) => Some([b"=", &**holder].concat()),
        (_, Some(Ok(Some(writer)))) if !is_turn(store, keys) => Some([b"i", writer].concat()),
        _ => None,
    };
    if let Some(why) = why {
        if word(arguments, 2) != Ok(b"0") {
            wait(store, keys, arguments, matches!(held, Held::By(_)))?;
        }
        return Ok(Value::text(why));
    }
    let (key, readers) = (word(keys, LOCK)?, || word(keys, READERS));
    if arguments.last().copied() != Some(b"tried") {
        store.need_memory()?;
        store.zrem(readers()?, b"")?;
    }
    let count = counted(store, keys, 0, arguments.get(5..).unwrap_or_default())?;
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
    if let (Some(key), Ok(name), Ok(b"last")) =
        (keys.get(TURNS), word(arguments, 3), word(arguments, 4))
    {
        let _ = store.zrem(key, name);
    }
    Ok(Value::Int(count))
}

/// Remembers that a reader was refused. This is advice, so each of its commands may fail.
fn wait(
    store: &mut Store,
    keys: &[&[u8]],
    arguments: &[&[u8]],
    is_held: bool,
) -> Result<(), Value> {
    let (advice, now) = (integer(arguments, 2)?, store.millis());
    let (key, ends) = (word(keys, TURNS)?, now.saturating_add(advice));
    let _ = store.zremrangebyscore(key, now);
    if let Ok(name) = word(arguments, 3) {
        let _ = store.zadd(key, ends, name);
    }
    if is_held {
        let _ = store.zadd(key, ends, DUE);
    } else {
        let _ = store.zrem(key, DUE);
    }
    if store.pttl(key) < advice {
        store.pexpire(key, advice);
    }
    Ok(())
}

fn acquire_write(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Some(marker) = keys.get(MARKER) {
        check(store, marker)?;
    }
    let name = arguments.get(3).copied();
    if let Some(why) = in_the_way(store, keys, &held)? {
        let intent = keys.get(INTENT).map(|key| store.get(key));
        let is_ours = matches!(intent, Some(Ok(known)) if known.is_none() || known == name);
        if let Some(name) = name
            && word(arguments, 2) != Ok(b"0")
            && is_ours
            && let (Ok(key), Ok(advice)) = (word(keys, INTENT), integer(arguments, 2))
        {
            // Advice, which may fail.
            let _ = store.set(key, name, advice);
        }
        return Ok(Value::text(why));
    }
    let count = counted(store, keys, 2, arguments.get(4..).unwrap_or_default())?;
    store.set(
        word(keys, LOCK)?,
        word(arguments, 0)?,
        integer(arguments, 1)?,
    )?;
    if held == Held::Readers {
        store.del(word(keys, READERS)?);
    }
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        withdraw(store, keys, name);
    }
    if let Some(key) = keys.get(TURNS)
        && let Ok(Some(last)) = store.highest(key)
    {
        let _ = store.zadd(key, last, DUE);
    }
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
    if !is_turn(store, keys) {
        return Ok(None);
    }
    let key = word(keys, TURNS)?;
    if store.pttl(key) > LONGEST_TURN {
        store.pexpire(key, LONGEST_TURN);
    }
    Ok(Some(b"t".into()))
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

fn extend_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Held::By(holder) = held {
        return Ok(Value::Text(holder));
    }
    if !is_in(store, keys, arguments, &held)? {
        return Ok(Value::Int(-1));
    }
    let till = store.millis().saturating_add(integer(arguments, 1)?);
    settle(store, keys, arguments, &held, Some(till))?;
    if arguments.len() > 2 {
        live(store, word(keys, COUNTER)?, integer(arguments, 2)?);
    }
    Ok(Value::Int(1))
}

fn confirm_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Held::By(_) = held {
        return Ok(Value::Int(0));
    }
    if !is_in(store, keys, arguments, &held)? {
        return Ok(Value::Int(-1));
    }
    let (counter, count) = (word(keys, COUNTER)?, integer(arguments, 1)?);
    if stands(store, counter) < count {
        let life = kept_for(store, count, integer(arguments, 2)?);
        store.set(counter, word(arguments, 1)?, life)?;
    }
    Ok(Value::Int(1))
}

fn restore_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = held(store, keys)?;
    if let Held::By(_) = held {
        return Ok(Value::Int(0));
    }
    if held == Held::Nothing {
        store.del(word(keys, READERS)?);
    }
    let till = store.millis().saturating_add(integer(arguments, 1)?);
    settle(store, keys, arguments, &held, Some(till))?;
    Ok(Value::Int(1))
}

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
