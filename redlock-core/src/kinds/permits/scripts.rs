//! The scripts of permits, with their twins.

use crate::kinds::exclusive::scripts::RELEASE;
use crate::node::script::Script;
use crate::node::store::{Store, parse_integer};
use crate::node::value::Value;

/// Takes the first free one of several permits, or lets the client wait in the queue.
pub(crate) static ACQUIRE_PERMIT: Script = Script::loaded(
    "acquire-permit",
    concat!(
        include_str!("queue.lua"),
        include_str!("acquire_permit.lua")
    ),
    acquire_permit,
)
.shaped("lock+ queue", "token ttl advice client streak?");

/// Takes a client out of the queue.
pub(crate) static LEAVE_QUEUE: Script = Script::loaded(
    "leave-queue",
    concat!(include_str!("queue.lua"), include_str!("leave_queue.lua")),
    leave_queue,
)
.shaped("queue", "client");

/// Deletes the permits that a winner does not need, and makes its client the last one in the queue.
pub(crate) static RELEASE_OTHERS: Script = Script::loaded(
    "release-others",
    concat!(
        include_str!("queue.lua"),
        include_str!("release_others.lua"),
        include_str!("../exclusive/release.lua")
    ),
    release_others,
)
.shaped("lock+ queue", "token client");

/// The time in ms that a client has for a permit which is free for it, once another client has asked.
pub(super) const CALL: i64 = 100;

/// The time in ms for which a client that waits no longer keeps its place.
const KEPT_PLACE: i64 = 10_000;

/// The time in ms for which the queue lives after a change.
const LIFE: i64 = 20_000;

/// The bytes of a client's name in a line, and of a line.
const NAME: usize = 16;
const LINE: usize = NAME + " 0000000000000\n".len();

/// The queue as one client finds it at a node (`queue.lua`).
struct Queue<'a> {
    key: &'a [u8],
    found: Vec<u8>,
    client: &'a [u8],
    /// The place of the client's line among the others, and the end of its wait, if there is a line.
    place: Option<usize>,
    waits_until: Option<i64>,
    /// The lines of other clients.
    lines: Vec<Vec<u8>>,
    /// The number of clients that wait ahead of this one.
    ahead: usize,
}

impl<'a> Queue<'a> {
    /// Reads the queue at `key` for the client with this name. The first `called` clients that wait ahead of it have
    /// a permit that is free for them.
    fn read(store: &Store, key: &'a [u8], name: &'a [u8], called: usize) -> Self {
        let now = store.millis();
        let found = store.get(key).ok().flatten().unwrap_or_default().to_vec();
        let mut queue = Self {
            key,
            found: found.clone(),
            client: &name[name.len().saturating_sub(NAME)..],
            place: None,
            waits_until: None,
            lines: Vec::new(),
            ahead: 0,
        };
        for line in found.chunks_exact(LINE) {
            let client = &line[..NAME];
            let mut until = parse_integer(&line[NAME + 1..LINE - 1]).unwrap_or(0);
            if client == queue.client {
                queue.place = Some(queue.lines.len());
                queue.waits_until = Some(until);
                continue;
            }
            let waits = until > now;
            if waits && queue.place.is_none() {
                queue.ahead += 1;
                if queue.ahead <= called {
                    until = until.min(now + CALL);
                }
            }
            if until > now - KEPT_PLACE {
                queue.lines.push(line_of(client, until));
            }
        }
        queue
    }

    /// Makes a client with a line the last one, as one that waits no longer. It needs no line if no other has one.
    fn record_served(&mut self, now: i64) {
        if !self.lines.is_empty()
            && let Some(until) = self.waits_until
        {
            let line = line_of(self.client, until.min(now));
            self.lines.push(line);
        }
    }

    /// Lets the client wait at its place, or as the last one.
    fn record_refused(&mut self) {
        if let Some(until) = self.waits_until {
            let place = self.place.unwrap_or(self.lines.len());
            self.lines.insert(place, line_of(self.client, until));
        }
    }

    /// Writes the queue if it has changed. It is advice, so it may fail.
    fn write(&self, store: &mut Store) {
        let text = self.lines.concat();
        if text == self.found {
            return;
        }
        if text.is_empty() {
            store.del(self.key);
        } else {
            let _ = store.set(self.key, &text, LIFE);
        }
    }
}

/// Returns the line of a client that waits until `until`.
fn line_of(client: &[u8], until: i64) -> Vec<u8> {
    [client, format!(" {until:013}\n").as_bytes()].concat()
}

fn acquire_permit(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let [permits @ .., queue] = keys else {
        return Ok(Value::Int(0));
    };
    let (token, advice, client) = (arguments[0], arguments[2], arguments[3]);
    let all_held = store.mget(permits);
    let mut free = Vec::new();
    for (place, (key, held)) in (1..).zip(permits.iter().zip(&all_held)) {
        if held.as_deref() == Some(token) {
            return Ok(Value::text(token));
        }
        if held.is_none() {
            free.push((place, *key));
        }
    }
    let goes_on = arguments.get(4) == Some(&&b"streak"[..]);
    let called = if goes_on { 0 } else { free.len() };
    let mut queue = Queue::read(store, queue, client, called);
    if goes_on {
        queue.ahead = 0;
    }
    let is_for_others = free.len() <= queue.ahead;
    if !is_for_others {
        for (place, key) in &free {
            if store.set_nx(key, token, parse_integer(arguments[1])?)? {
                queue.record_served(store.millis());
                queue.write(store);
                return Ok(Value::Int(*place));
            }
        }
    }
    if advice != b"0" {
        let until = store.millis().saturating_add(parse_integer(advice)?);
        queue.waits_until = Some(until);
    }
    queue.record_refused();
    queue.write(store);
    if is_for_others && !free.is_empty() {
        return Ok(Value::Int(-1));
    }
    let holder = all_held.into_iter().flatten().next();
    Ok(holder.map_or(Value::Int(0), Value::Text))
}

fn leave_queue(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let key = keys[0];
    if !matches!(store.get(key), Ok(Some(_))) {
        return Ok(Value::Int(-1));
    }
    Queue::read(store, key, arguments[0], 0).write(store);
    Ok(Value::Int(1))
}

fn release_others(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let [permits @ .., key] = keys else {
        return Ok(Value::Int(0));
    };
    let [token, client] = [arguments[0], arguments[1]];
    if matches!(store.get(key), Ok(Some(_))) {
        let mut queue = Queue::read(store, key, client, 0);
        queue.record_served(store.millis());
        queue.write(store);
    }
    Ok(RELEASE.run(store, permits, &[token]))
}
