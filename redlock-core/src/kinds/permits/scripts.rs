//! The scripts of permits, with their twins.

use crate::node::script::Script;
use crate::node::store::{Store, parse_integer};
use crate::node::value::Value;

/// Takes the first free permit, or lets the client wait in the queue.
pub(crate) static ACQUIRE_PERMIT: Script = Script::loaded(
    "acquire-permit",
    concat!(
        include_str!("take_free_permit.lua"),
        include_str!("queue.lua"),
        include_str!("acquire_permit.lua")
    ),
    acquire_permit,
)
.shaped("lock+ queue", "token ttl advice client call standing?");

/// Removes a client from the queue, or moves it to the end.
pub(crate) static LEAVE_QUEUE: Script = Script::loaded(
    "leave-queue",
    concat!(include_str!("queue.lua"), include_str!("leave_queue.lua")),
    leave_queue,
)
.shaped("queue", "client served?");

/// The last argument of an acquisition in a streak, which goes ahead of other clients.
pub(super) const STREAK: &str = "streak";
/// The last argument of an acquisition after a refusal. A permit is seldom free for it.
pub(super) const WAITS: &str = "waits";
/// The last argument of [`LEAVE_QUEUE`] for a client that other nodes served.
pub(super) const SERVED: &str = "served";

/// The time in ms for which a client keeps its place after its wait.
const KEPT_PLACE: i64 = 10_000;

/// The ttl of the queue in ms, from its last change.
const LIFE: i64 = 20_000;

/// The number of bytes of a client's name in its entry.
const NAME: usize = 16;
/// The number of bytes of an entry.
const ENTRY: usize = NAME + " 0000 0000000000000\n".len();

/// The number of bytes that a script's short form reads of a longer value (`brief.lua`).
const CUT: usize = 557;

/// The entry of a client in the queue.
struct QueueEntry {
    client: Vec<u8>,
    /// The time of the client's call, in ms.
    call: i64,
    /// The end of the client's wait, in ms of the node's clock.
    until: i64,
}

impl QueueEntry {
    fn read(entry: &[u8]) -> Option<Self> {
        let (client, rest) = entry.split_at_checked(NAME)?;
        let rest = rest.strip_prefix(b" ")?.strip_suffix(b"\n")?;
        let (call, until) = rest.split_at_checked(4)?;
        let until = until.strip_prefix(b" ")?;
        let are_digits = [call, until].concat().iter().all(u8::is_ascii_digit);
        are_digits.then_some(Self {
            client: client.to_vec(),
            call: parse_integer(call).ok()?,
            until: parse_integer(until).ok()?,
        })
    }

    fn text(&self) -> Vec<u8> {
        let times = format!(" {:04} {:013}\n", self.call, self.until);
        [&self.client, times.as_bytes()].concat()
    }
}

/// The queue of a node, as one client sees it (`queue.lua`).
struct Queue<'a> {
    key: &'a [u8],
    stored: Vec<u8>,
    /// The client's own entry, and the number of other entries before it.
    own: Option<QueueEntry>,
    place: Option<usize>,
    /// The entries of other clients.
    entries: Vec<QueueEntry>,
    /// The number of clients that wait ahead of this one.
    ahead: usize,
}

impl<'a> Queue<'a> {
    /// Reads the queue at `key` for the client with this name. If a permit `is_free`, calls the clients ahead.
    fn read(store: &Store, key: &'a [u8], name: &[u8], is_free: bool) -> Self {
        let now = store.millis();
        let mut queue = Self {
            key,
            stored: store.get(key).ok().flatten().unwrap_or_default().to_vec(),
            own: None,
            place: None,
            entries: Vec::new(),
            ahead: 0,
        };
        let entries = queue.stored.chunks_exact(ENTRY);
        let entries = entries.filter_map(QueueEntry::read);
        for mut entry in entries.filter(|entry| entry.until > now - KEPT_PLACE) {
            if entry.client == short(name) {
                queue.place = Some(queue.entries.len());
                queue.own = Some(entry);
            } else {
                if entry.until > now && queue.own.is_none() {
                    queue.ahead += 1;
                    if is_free {
                        entry.until = entry.until.min(now + entry.call);
                    }
                }
                queue.entries.push(entry);
            }
        }
        queue
    }

    /// Moves the client's entry to the end and ends the client's wait. Removes the entry if no other client has one.
    /// The clients after it that still wait do so for `advice` ms again.
    fn record_served(&mut self, now: i64, advice: i64) {
        let place = self.place.unwrap_or(self.entries.len());
        for entry in &mut self.entries[place..] {
            if entry.until > now {
                entry.until = entry.until.max(now + advice);
            }
        }
        if !self.entries.is_empty()
            && let Some(mut own) = self.own.take()
        {
            own.until = own.until.min(now);
            self.entries.push(own);
        }
    }

    /// Returns the stored text with the entry `new` in place of `old`.
    fn renewed(&self, old: &QueueEntry, new: &QueueEntry) -> Vec<u8> {
        let old = old.text();
        let stored = self.stored.chunks(ENTRY).map(<[u8]>::to_vec);
        stored
            .flat_map(|it| if it == old { new.text() } else { it })
            .collect()
    }

    fn text(&self) -> Vec<u8> {
        self.entries.iter().flat_map(QueueEntry::text).collect()
    }

    /// Writes the queue if it changed and was read completely. The write may fail, because the queue is advice.
    fn write(&self, store: &mut Store, text: &[u8]) {
        if text == self.stored || self.stored.len() == CUT {
            return;
        }
        if text.is_empty() {
            store.del(self.key);
        } else {
            let _ = store.set(self.key, text, LIFE);
        }
    }
}

/// Returns the part of a client's name that is in its entry.
fn short(name: &[u8]) -> &[u8] {
    &name[name.len().saturating_sub(NAME)..]
}

fn acquire_permit(store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Result<Value, Value> {
    let [permits @ .., queue] = keys else {
        return Ok(Value::Int(0));
    };
    let (token, client) = (arguments[0], arguments[3]);
    let [advice, call] = [parse_integer(arguments[2])?, parse_integer(arguments[4])?];
    let now = store.millis();
    let entry = (advice > 0).then(|| QueueEntry {
        client: short(client).to_vec(),
        call,
        until: now.saturating_add(advice),
    });
    if arguments.get(5) == Some(&WAITS.as_bytes())
        && keys.iter().all(|key| store.exists(key))
        && let (Some(entry), Ok(Some(holder))) = (&entry, store.get(keys[0]))
    {
        let holder = Value::text(holder);
        let queue = Queue::read(store, queue, client, false);
        if let Some(own) = queue.own.as_ref().filter(|own| own.until > now) {
            if 3 * (own.until - now) < 2 * advice {
                queue.write(store, &queue.renewed(own, entry));
            }
            return Ok(holder);
        }
    }
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
    let is_in_streak = arguments.get(5) == Some(&STREAK.as_bytes());
    let mut queue = Queue::read(store, queue, client, !free.is_empty() && !is_in_streak);
    let ahead = if is_in_streak { 0 } else { queue.ahead };
    let is_for_others = free.len() <= ahead;
    if !is_for_others {
        for (place, key) in &free {
            if store.set_nx(key, token, parse_integer(arguments[1])?)? {
                queue.record_served(now, advice);
                queue.write(store, &queue.text());
                return Ok(Value::Int(*place));
            }
        }
    }
    if let Some(own) = entry.or(queue.own.take()) {
        let place = queue.place.unwrap_or(queue.entries.len());
        queue.entries.insert(place, own);
    }
    queue.write(store, &queue.text());
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
    let mut queue = Queue::read(store, key, arguments[0], false);
    if arguments.get(1) == Some(&SERVED.as_bytes()) {
        queue.record_served(store.millis(), 0);
    }
    queue.write(store, &queue.text());
    Ok(Value::Int(1))
}
