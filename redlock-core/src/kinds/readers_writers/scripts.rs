//! The scripts that acquire and release locks of readers and writers, each with its Rust twin.

use crate::kinds::fenced::{check_marker, raise_counters};
use crate::node::READERS_MARKER;
use crate::node::script::Script;
use crate::node::store::{Store, parse_integer};
use crate::node::value::Value;

/// Lets a reader in.
pub(crate) static ACQUIRE_READ: Script = Script::loaded(
    "acquire-read",
    concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("../fenced/counters.lua"),
        include_str!("../fenced/refuse.lua"),
        include_str!("turn.lua"),
        include_str!("refuse_read.lua"),
        // Try the commands first. A user who lacks one of them could not remove its entry.
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
.checking_commands()
.shaped(
    "lock readers intent turn [ counter marker? ]",
    "token ttl advice name last [ hint life window ] tried?",
);

/// Lets a writer in.
pub(crate) static ACQUIRE_WRITE: Script = Script::loaded(
    "acquire-write",
    concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("../fenced/counters.lua"),
        include_str!("../fenced/refuse.lua"),
        include_str!("turn.lua"),
        include_str!("acquire_write.lua"),
    ),
    acquire_write,
)
.shaped(
    "lock readers intent turn [ counter marker? ]",
    "token ttl advice name [ hint life window ]",
);

/// Extends a reader's entry, or restores it, and raises the counter.
pub(crate) static EXTEND_READ: Script = Script::loaded(
    "extend-read",
    concat!(
        include_str!("held.lua"),
        include_str!("clock.lua"),
        include_str!("../fenced/counters.lua"),
        include_str!("entries.lua"),
        include_str!("extend_read.lua"),
    ),
    extend_read,
)
.shaped(
    "lock readers intent turn [ counter ]",
    "token ttl [ hint life ] back?",
);

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

/// The member of the turn's set that makes it the readers' turn. A holder refused them, or a writer got in since.
const DUE: &[u8] = b"due";

/// The longest turn of readers, in ms, while a writer waits for the lock.
pub(super) const LONGEST_TURN: i64 = 500;

/// The holders of the lock at a node.
struct Held {
    /// The value of the key. `None` if readers hold the lock, or nobody.
    other: Option<Box<[u8]>>,
    is_read: bool,
}

/// Reads who holds the lock, as `held.lua` does. A key that is not a string ends the script with the reply 0.
fn read_held(store: &Store, key: &[u8]) -> Result<Held, Value> {
    let held = store.get(key).map_err(|_| Value::Int(0))?;
    let is_read = held == Some(READERS_MARKER);
    Ok(Held {
        other: held.filter(|_| !is_read).map(Box::from),
        is_read,
    })
}

/// True if it is the turn of refused readers, as in `turn.lua`.
fn is_turn(store: &Store, turn: &[u8]) -> bool {
    let now = store.millis();
    store.entries(turn).is_ok_and(|waiting| {
        let lasts = |ends: &&i64| **ends > now;
        waiting.get(DUE).is_some_and(|ends| lasts(&ends))
            && waiting.values().filter(lasts).count() > 1
    })
}

/// Gives the lock the life of the reader that stays longest, as `entries.lua` does. If `ends` is given, the entry of
/// `token` first lasts until then.
fn settle(
    store: &mut Store,
    keys: &[&[u8]],
    is_read: bool,
    token: &[u8],
    ends: Option<i64>,
) -> Result<(), Value> {
    let (key, readers, now) = (keys[0], keys[1], store.millis());
    store.zremrangebyscore(readers, now)?;
    if let Some(ends) = ends {
        store.zadd(readers, ends, token)?;
    }
    let Some(last) = store.highest(readers)? else {
        store.del(key);
        return Ok(());
    };
    if is_read {
        store.pexpire(key, last - now);
    } else {
        store.set(key, READERS_MARKER, last - now)?;
    }
    store.pexpire(readers, last - now);
    Ok(())
}

fn acquire_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (key, readers, intent, turn) = (keys[0], keys[1], keys[2], keys[3]);
    let (token, advice, name) = (arguments[0], arguments[2], arguments[3]);
    let Held { other, is_read } = read_held(store, key)?;
    let counters = check_marker(store, &keys[4..], 1)?;
    let why = match (&other, store.get(intent)) {
        (Some(holder), _) => Some([b"=", &**holder].concat()),
        (_, Ok(Some(writer))) if !is_turn(store, turn) => Some([b"i", writer].concat()),
        _ => None,
    };
    if let Some(why) = why {
        if advice != b"0" {
            record_refused(store, turn, name, parse_integer(advice)?, other.is_some());
        }
        return Ok(Value::text(why));
    }
    if !arguments.ends_with(&[b"tried"]) {
        store.need_memory()?;
        store.zrem(readers, b"")?;
    }
    let count = raise_counters(store, counters, 0, &arguments[5..])?.count;
    let (now, mut life) = (store.millis(), parse_integer(arguments[1])?);
    let ends = now.saturating_add(life);
    if is_read {
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
    if arguments[4] == b"last" {
        let _ = store.zrem(turn, name);
    }
    Ok(Value::Int(count))
}

/// Remembers a refused reader. The mark is advice, so each of its commands may fail.
fn record_refused(store: &mut Store, turn: &[u8], name: &[u8], advice: i64, is_held: bool) {
    let (now, ends) = (store.millis(), store.millis().saturating_add(advice));
    let _ = store.zremrangebyscore(turn, now);
    let _ = store.zadd(turn, ends, name);
    if is_held {
        let _ = store.zadd(turn, ends, DUE);
    } else {
        let _ = store.zrem(turn, DUE);
    }
    store.ensure_ttl(turn, advice);
}

fn acquire_write(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (key, readers, intent, turn) = (keys[0], keys[1], keys[2], keys[3]);
    let (token, advice, name) = (arguments[0], arguments[2], arguments[3]);
    let held = read_held(store, key)?;
    let is_read = held.is_read;
    let counters = check_marker(store, &keys[4..], 1)?;
    if let Some(why) = writer_obstacle(store, readers, turn, held)? {
        let is_ours = matches!(store.get(intent), Ok(known) if known.is_none_or(|it| it == name));
        if is_ours
            && advice != b"0"
            && let Ok(advice) = parse_integer(advice)
        {
            // The intent is advice, so this write may fail.
            let _ = store.set(intent, name, advice);
        }
        return Ok(Value::text(why));
    }
    let count = raise_counters(store, counters, 2, &arguments[4..])?.count;
    store.set(key, token, parse_integer(arguments[1])?)?;
    if is_read {
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

/// Returns the reply to a writer that a holder, readers or the readers' turn keeps out.
fn writer_obstacle(
    store: &mut Store,
    readers: &[u8],
    turn: &[u8],
    held: Held,
) -> Result<Option<Vec<u8>>, Value> {
    if let Some(holder) = held.other {
        return Ok(Some([b"=", &*holder].concat()));
    }
    if held.is_read {
        store.zremrangebyscore(readers, store.millis())?;
        if !store.entries(readers)?.is_empty() {
            return Ok(Some(b"r".into()));
        }
    }
    if !is_turn(store, turn) {
        return Ok(None);
    }
    if store.pttl(turn) > LONGEST_TURN {
        store.pexpire(turn, LONGEST_TURN);
    }
    Ok(Some(b"t".into()))
}

fn extend_read(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (key, readers, token) = (keys[0], keys[1], arguments[0]);
    let Held { other, is_read } = read_held(store, key)?;
    if let Some(holder) = other {
        return Ok(Value::Text(holder));
    }
    if arguments.ends_with(&[b"back"]) {
        if !is_read {
            store.del(readers);
        }
    } else {
        let ends = if is_read {
            store.zscore(readers, token)?
        } else {
            None
        };
        if ends.is_none_or(|ends| ends <= store.millis()) {
            return Ok(Value::Int(-1));
        }
    }
    let ends = store.millis().saturating_add(parse_integer(arguments[1])?);
    settle(store, keys, is_read, token, Some(ends))?;
    raise_counters(store, &keys[4..], 0, &arguments[2..arguments.len().min(4)])?;
    Ok(Value::Int(1))
}

fn release_shared(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (key, readers, token) = (keys[0], keys[1], arguments[0]);
    let Held { other, is_read } = read_held(store, key)?;
    match (&keys[2..], &arguments[1..]) {
        ([_, turn], [name]) => drop(store.zrem(turn, name)),
        ([intent], [name]) if store.says(intent, name) => drop(store.del(intent)),
        _ => {}
    }
    if other.as_deref() == Some(token) {
        store.del(key);
        return Ok(Value::Int(1));
    }
    if store.zrem(readers, token)? {
        if is_read {
            settle(store, keys, is_read, token, None)?;
        }
        return Ok(Value::Int(1));
    }
    let is_free = other.is_none() && !is_read;
    Ok(Value::Int(if is_free { -1 } else { 0 }))
}
