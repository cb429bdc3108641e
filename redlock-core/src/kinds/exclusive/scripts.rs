//! The scripts of locks with a single holder, and their twins.

use crate::kinds::fenced::{Counted, check_marker, raise_counters};
use crate::model::token;
use crate::node::script::Script;
use crate::node::store::{Store, parse_integer};
use crate::node::value::Value;

/// Takes the lock on one key. Because of `GET`, a refusal contains the holder's token.
pub(crate) static SET: Script = Script::command(
    "set",
    "SET",
    &["NX", "GET", "PX"],
    include_str!("set.lua"),
    set,
)
.shaped("lock", "token ttl");

/// Takes the locks on all of several keys, or on none. Raises their counters.
pub(crate) static ACQUIRE_ALL: Script = Script::loaded(
    "acquire-all",
    concat!(
        include_str!("locks.lua"),
        include_str!("../fenced/counters.lua"),
        include_str!("../fenced/refuse.lua"),
        include_str!("acquire_all.lua"),
    ),
    acquire_all,
)
.shaped(
    "lock+ [ counter+ marker? ]",
    "token ttl [ hint life window ]",
);

/// Extends the keys that hold our token, or restores missing keys. Raises the lock's counters.
pub(crate) static EXTEND: Script = Script::loaded(
    "extend",
    concat!(
        include_str!("locks.lua"),
        include_str!("../fenced/counters.lua"),
        include_str!("extend.lua"),
    ),
    extend,
)
.shaped("lock+ [ counter+ ]", "token ttl [ hint life ] back?");

/// Deletes the keys of a lock that hold our token.
pub(crate) static RELEASE: Script = Script::loaded(
    "release",
    concat!(
        include_str!("release_one.lua"),
        "local locks, each, taken, answers, all = #KEYS, false, 0, {}, true ",
        include_str!("release.lua")
    ),
    release,
)
.shaped("lock+", "token");

/// Serves several calls at once: `SET` for the first keys, `RELEASE` for the others. Each call gets an answer.
pub(crate) static MANY: Script = Script::loaded(
    "many",
    concat!(
        include_str!("many.lua"),
        include_str!("take_each.lua"),
        include_str!("release.lua")
    ),
    many,
)
.shaped("lock+", "token+ [ taken ttl ]");

/// Serves several calls at once: fenced acquisitions for the first keys, `RELEASE` for the others. Each call gets an
/// answer.
pub(crate) static MANY_FENCED: Script = Script::loaded(
    "many-fenced",
    concat!(
        include_str!("../fenced/many_fenced.lua"),
        include_str!("../fenced/counters.lua"),
        "local tried = refusal and 0 or taken ",
        include_str!("take_each.lua"),
        include_str!("../fenced/count_each.lua"),
        include_str!("release.lua"),
    ),
    many_fenced,
)
.shaped(
    "lock+ lock+ counter+ marker?",
    "token+ token+ hint+ life window count ttl",
);

/// The most bytes of a foreign value in an answer of [`MANY`]. The bound is above the longest token, so that a value
/// that was cut never looks like a token.
const MAX_ANSWER_BYTES: usize = token::LONGEST_TOKEN + 1;

fn set(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let held = store.get(keys[0]).map(|held| held.map(Value::text));
    store.set_nx(keys[0], arguments[0], parse_integer(arguments[1])?)?;
    Ok(held?.unwrap_or(Value::Nil))
}

fn acquire_all(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, gone) = find_locks(store, keys, arguments)?;
    let counters = check_marker(store, &keys[locks..], locks)?;
    if gone < locks {
        return Ok(Value::text(arguments[0]));
    }
    let granted = grant(store, counters, &arguments[2..])?;
    for key in &keys[..locks] {
        store.set(key, arguments[0], parse_integer(arguments[1])?)?;
    }
    Ok(granted)
}

/// Raises the counters for a grant. Returns the script's answer to it: the number before if the hint is the number
/// now, otherwise both numbers.
fn grant(store: &mut Store, counters: &[&[u8]], numbers: &[&[u8]]) -> Result<Value, Value> {
    let Counted { count, before } = raise_counters(store, counters, 2, numbers)?;
    if counters.is_empty() {
        return Ok(Value::Int(1));
    }
    if before > 1 && parse_integer(numbers[0]) == Ok(count) {
        return Ok(Value::Int(before));
    }
    Ok(Value::List([count, before].map(Value::Int).into()))
}

fn extend(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (locks, gone) = find_locks(store, keys, arguments)?;
    if gone > 0 && !arguments.ends_with(&[b"back"]) {
        return Ok(Value::Int(-1));
    }
    for key in &keys[..locks] {
        let ttl = parse_integer(arguments[1])?;
        if !store.exists(key) {
            store.set(key, arguments[0], ttl)?;
        }
        store.ensure_ttl(key, ttl);
    }
    let numbers = &arguments[2..arguments.len().min(4)];
    raise_counters(store, &keys[locks..], 0, numbers)?;
    Ok(Value::Int(1))
}

/// Counts the keys that are locks, and the missing ones among them. As in `locks.lua`, another holder's lock is the
/// error that ends the script.
fn find_locks(store: &Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<(usize, usize), Value> {
    let has_counters = arguments.len() > 3;
    let (count, mut gone) = (keys.len() / if has_counters { 2 } else { 1 }, 0);
    for key in &keys[..count] {
        match store.get(key) {
            Err(_) => return Err(Value::Int(0)),
            Ok(None) => gone += 1,
            Ok(Some(held)) if held == arguments[0] => {}
            Ok(Some(held)) => return Err(Value::text(held)),
        }
    }
    Ok((count, gone))
}

fn release(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let answers = release_each(store, keys, arguments);
    Ok(Value::Int(answers.into_iter().max().unwrap_or(1)))
}

fn many(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let (tokens, times) = arguments.split_at(arguments.len().min(keys.len()));
    let taken = times.first().and_then(|count| parse_integer(count).ok());
    let taken = usize::try_from(taken.unwrap_or(0)).unwrap_or(0);
    let taken = taken.min(keys.len());
    let mut answers = Vec::new();
    for place in 0..taken {
        let answer = take(store, keys[place], tokens[place], times[1]);
        answers.push(answer.unwrap_or_else(|error| error));
    }
    let released = release_each(store, &keys[taken..], &tokens[taken..]);
    let released = released.into_iter().map(Value::Int);
    Ok(each_or_one(answers.into_iter().chain(released)))
}

fn many_fenced(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let own = arguments.len().saturating_sub(4);
    let [life, window, taken, ttl] = arguments[own..] else {
        return Ok(Value::Int(1));
    };
    let taken = usize::try_from(parse_integer(taken).unwrap_or(0)).unwrap_or(0);
    let taken = taken.min(keys.len());
    let locks = own.saturating_sub(taken).min(keys.len()).max(taken);
    let refusal = check_marker(store, &keys[locks..], taken).err();
    let acquired = |place: usize| match &refusal {
        Some(refusal) => Err(refusal.clone()),
        None => take(store, keys[place], arguments[place], ttl),
    };
    let mut answers: Vec<_> = (0..taken).map(acquired).collect();
    for (place, answer) in answers.iter_mut().enumerate() {
        if *answer == Ok(Value::Int(1)) {
            let counter = keys.get(locks + place..=locks + place).unwrap_or_default();
            let numbers = [arguments[locks + place], life, window];
            *answer = grant(store, counter, &numbers).inspect_err(|_| {
                store.del(keys[place]);
            });
        }
    }
    let answers = answers
        .into_iter()
        .map(|it| it.unwrap_or_else(|error| error));
    let released = release_each(store, &keys[taken..locks], &arguments[taken..locks]);
    Ok(each_or_one(
        answers.chain(released.into_iter().map(Value::Int)),
    ))
}

/// Returns 1 if all `answers` are 1, otherwise the list of them.
fn each_or_one(answers: impl Iterator<Item = Value>) -> Value {
    let answers: Vec<_> = answers.collect();
    if answers.iter().all(|answer| *answer == Value::Int(1)) {
        return Value::Int(1);
    }
    Value::List(answers)
}

/// Takes one lock. Returns 1, or the value of the key if it is taken already.
fn take(store: &mut Store, key: &[u8], token: &[u8], ttl: &[u8]) -> Result<Value, Value> {
    if store.set_nx(key, token, parse_integer(ttl)?)? {
        return Ok(Value::Int(1));
    }
    let held = store.get(key)?.unwrap_or_default();
    Ok(Value::text(&held[..held.len().min(MAX_ANSWER_BYTES)]))
}

/// Deletes each key that holds its token; a single token stands for all keys. Returns an answer for each key: 1
/// deleted, 0 another holder's, -1 missing or not a string.
fn release_each(store: &mut Store, keys: &[&[u8]], tokens: &[&[u8]]) -> Vec<i64> {
    // Read all keys before deleting any, as the script does.
    let held = store.mget(keys);
    let each = keys.iter().zip(held).zip(tokens.iter().cycle());
    each.map(|((key, held), token)| match held {
        None => -1,
        Some(held) if held[..] == **token => {
            store.del(key);
            1
        }
        Some(_) => 0,
    })
    .collect()
}
