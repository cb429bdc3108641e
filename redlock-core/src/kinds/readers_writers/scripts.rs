//! The scripts that let readers and writers in and out, with their twins.

use super::state::{DUE, Held, LONGEST_TURN, held, is_in, is_turn, settle};
use crate::kinds::exclusive::scripts::live;
use crate::kinds::fenced::scripts::{check, clamped, kept_for, stands};
use crate::kinds::words::{integer, missing, parsed};
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
    let [key, readers, intent, turn, counter @ ..] = keys else {
        return missing();
    };
    let [token, ttl, advice, name, last, numbers @ ..] = arguments else {
        return missing();
    };
    let held = held(store, key)?;
    if let [_, marker] = counter {
        check(store, marker)?;
    }
    let why = match (&held, store.get(intent)) {
        (Held::By(holder), _) => Some([b"=", &**holder].concat()),
        (_, Ok(Some(writer))) if !is_turn(store, turn) => Some([b"i", writer].concat()),
        _ => None,
    };
    if let Some(why) = why {
        if *advice != b"0" {
            wait(
                store,
                turn,
                name,
                parsed(advice)?,
                matches!(held, Held::By(_)),
            );
        }
        return Ok(Value::text(why));
    }
    if arguments.last().copied() != Some(b"tried") {
        store.need_memory()?;
        store.zrem(readers, b"")?;
    }
    let count = counted(store, counter, 0, numbers)?;
    let (now, mut life) = (store.millis(), parsed(ttl)?);
    let ends = now.saturating_add(life);
    if held == Held::Readers {
        store.zadd(readers, ends, token)?;
        store.zremrangebyscore(readers, now)?;
        let last = store.highest(readers)?;
        life = life.max(last.ok_or_else(|| Value::error("ERR no entry"))? - now);
        store.pexpire(key, life);
    } else {
        store.set(key, READERS_MARKER, life)?;
        store.del(readers);
        store.zadd(readers, ends, token)?;
    }
    store.pexpire(readers, life);
    if *last == b"last" {
        let _ = store.zrem(turn, name);
    }
    Ok(Value::Int(count))
}

/// Remembers that a reader was refused. This is advice, so each of its commands may fail.
fn wait(store: &mut Store, turn: &[u8], name: &[u8], advice: i64, is_held: bool) {
    let (now, ends) = (store.millis(), store.millis().saturating_add(advice));
    let _ = store.zremrangebyscore(turn, now);
    let _ = store.zadd(turn, ends, name);
    if is_held {
        let _ = store.zadd(turn, ends, DUE);
    } else {
        let _ = store.zrem(turn, DUE);
    }
    live(store, turn, advice);
}

fn acquire_write(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let [key, readers, intent, turn, counter @ ..] = keys else {
        return missing();
    };
    let [token, ttl, advice, name, numbers @ ..] = arguments else {
        return missing();
    };
    let held = held(store, key)?;
    if let [_, marker] = counter {
        check(store, marker)?;
    }
    if let Some(why) = in_the_way(store, readers, turn, &held)? {
        let is_ours = matches!(store.get(intent), Ok(known) if known.is_none_or(|it| it == *name));
        if is_ours
            && *advice != b"0"
            && let Ok(advice) = parsed(advice)
        {
            // Advice, which may fail.
            let _ = store.set(intent, name, advice);
        }
        return Ok(Value::text(why));
    }
    let count = counted(store, counter, 2, numbers)?;
    store.set(key, token, parsed(ttl)?)?;
    if held == Held::Readers {
        store.del(readers);
    }
    if !name.is_empty() && store.says(intent, name) {
        store.del(intent);
    }
    if let Ok(Some(last)) = store.highest(turn) {
        let _ = store.zadd(turn, last, DUE);
    }
    Ok(Value::Int(count))
}

/// What keeps a writer out.
fn in_the_way(
    store: &mut Store,
    readers: &[u8],
    turn: &[u8],
    held: &Held,
) -> Result<Option<Vec<u8>>, Value> {
    match held {
        Held::By(holder) => return Ok(Some([b"=", &**holder].concat())),
        Held::Readers => {
            store.zremrangebyscore(readers, store.millis())?;
            if !store.entries(readers)?.is_empty() {
                return Ok(Some(b"r".into()));
            }
        }
        Held::Nothing => {}
    }
    if !is_turn(store, turn) {
        return Ok(None);
    }
    if store.pttl(turn) > LONGEST_TURN {
        store.pexpire(turn, LONGEST_TURN);
    }
    Ok(Some(b"t".into()))
}

/// `counted.lua`: raises the counter, if there is one. The numbers are hint, window and ttl.
fn counted(
    store: &mut Store,
    counter: &[&[u8]],
    step: i64,
    numbers: &[&[u8]],
) -> Result<i64, Value> {
    let Some(counter) = counter.first() else {
        return Ok(1);
    };
    let hint = clamped(store, integer(numbers, 0)?, integer(numbers, 1)?);
    let count = hint.max(stands(store, counter) + step);
    let life = kept_for(store, count, integer(numbers, 2)?);
    store.set(counter, count.to_string().as_bytes(), life)?;
    Ok(count)
}

fn extend_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let ([key, readers, _, _, counter @ ..], [token, ttl, life @ ..]) = (keys, arguments) else {
        return missing();
    };
    let held = held(store, key)?;
    if let Held::By(holder) = held {
        return Ok(Value::Text(holder));
    }
    if !is_in(store, readers, token, &held)? {
        return Ok(Value::Int(-1));
    }
    let till = store.millis().saturating_add(parsed(ttl)?);
    settle(store, key, readers, &held, Some((till, token)))?;
    if let ([counter], [life]) = (counter, life) {
        live(store, counter, parsed(life)?);
    }
    Ok(Value::Int(1))
}

fn confirm_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let ([key, readers, _, _, counter], [token, number, life]) = (keys, arguments) else {
        return missing();
    };
    let held = held(store, key)?;
    if let Held::By(_) = held {
        return Ok(Value::Int(0));
    }
    if !is_in(store, readers, token, &held)? {
        return Ok(Value::Int(-1));
    }
    let count = parsed(number)?;
    if stands(store, counter) < count {
        let life = kept_for(store, count, parsed(life)?);
        store.set(counter, number, life)?;
    }
    Ok(Value::Int(1))
}

fn restore_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let ([key, readers, ..], [token, ttl]) = (keys, arguments) else {
        return missing();
    };
    let held = held(store, key)?;
    if let Held::By(_) = held {
        return Ok(Value::Int(0));
    }
    if held == Held::Nothing {
        store.del(readers);
    }
    let till = store.millis().saturating_add(parsed(ttl)?);
    settle(store, key, readers, &held, Some((till, token)))?;
    Ok(Value::Int(1))
}

fn release_shared(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let ([key, readers, left @ ..], [token, name @ ..]) = (keys, arguments) else {
        return missing();
    };
    let held = held(store, key)?;
    match (left, name) {
        ([_, turn], [name]) => drop(store.zrem(turn, name)),
        ([intent], [name]) if store.says(intent, name) => drop(store.del(intent)),
        _ => {}
    }
    if held == Held::By((*token).into()) {
        store.del(key);
        return Ok(Value::Int(1));
    }
    if store.zrem(readers, token)? {
        if held == Held::Readers {
            settle(store, key, readers, &held, None)?;
        }
        return Ok(Value::Int(1));
    }
    Ok(Value::Int(if held == Held::Nothing { -1 } else { 0 }))
}
