//! The keys of an in-process node. The Rust twins of the Lua scripts read and write them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::value::Value;
use crate::env::Moment;

/// The members of a sorted set, with their scores.
pub(crate) type Members = BTreeMap<Box<[u8]>, i64>;

/// Keys with texts and sorted sets, each with an expiry, and the node's clocks.
///
/// A method with the name of a command does what the command does. On a key of another type it returns a server's
/// error. On a full server, so does a method that needs memory, unless the script has written before.
#[derive(Clone, Default)]
pub struct Store {
    keys: BTreeMap<Box<[u8]>, StoredKey>,
    millis: i64,
    micros: i64,
    is_full: bool,
    has_written: bool,
}

/// The value of a key, and its end.
#[derive(Clone)]
struct StoredKey {
    data: Data,
    /// The expiry in ms since the clock's origin; `None` for a key that lasts.
    expires: Option<i64>,
}

#[derive(Clone)]
enum Data {
    Text(Box<[u8]>),
    Set(Members),
}

impl StoredKey {
    /// Returns a key that does not expire.
    fn lasting(data: Data) -> Self {
        let expires = None;
        Self { data, expires }
    }
}

impl Store {
    /// Begins a call: sets the clocks, and removes the expired keys. Returns true if there were any. `now` is truncated
    /// to ms, because servers count in ms.
    pub fn begin(&mut self, now: Moment, wall: Duration) -> bool {
        let millis = whole(now.since_origin().as_millis());
        (self.millis, self.micros) = (millis, whole(wall.as_micros()));
        self.has_written = false;
        let known = self.keys.len();
        let lives = |entry: &mut StoredKey| entry.expires.is_none_or(|expires| expires > millis);
        self.keys.retain(|_, entry| lives(entry));
        self.keys.len() < known
    }

    /// Sets whether the server's memory is full.
    pub fn fill(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Returns the ms since the clock's origin, which expiries and scores use.
    pub fn millis(&self) -> i64 {
        self.millis
    }

    /// Returns the µs since 1970, as `TIME` does. Fencing counters and markers use them.
    pub fn micros(&self) -> i64 {
        self.micros
    }

    /// Does `GET`.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, Value> {
        match self.keys.get(key).map(|entry| &entry.data) {
            None => Ok(None),
            Some(Data::Text(text)) => Ok(Some(text)),
            Some(Data::Set(_)) => Err(wrong_type()),
        }
    }

    /// Does `MGET`. A key of another type than string counts as missing.
    pub(crate) fn mget(&self, keys: &[&[u8]]) -> Vec<Option<Box<[u8]>>> {
        let value = |key: &&[u8]| self.get(key).ok().flatten().map(Box::from);
        keys.iter().map(value).collect()
    }

    /// True if `key` holds `text`.
    pub fn says(&self, key: &[u8], text: &[u8]) -> bool {
        self.get(key) == Ok(Some(text))
    }

    /// Does `EXISTS`.
    pub fn exists(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// Does `SET` with `PX`.
    pub fn set(&mut self, key: &[u8], text: &[u8], ttl: i64) -> Result<(), Value> {
        self.need_memory()?;
        valid(ttl)?;
        self.set_lasting(key, text);
        self.pexpire(key, ttl);
        Ok(())
    }

    /// Does `SET` with `NX` and `PX`. Returns true if the key was missing.
    pub fn set_nx(&mut self, key: &[u8], text: &[u8], ttl: i64) -> Result<bool, Value> {
        if !self.exists(key) {
            self.set(key, text, ttl)?;
            return Ok(true);
        }
        self.need_memory()?;
        valid(ttl)?;
        Ok(false)
    }

    /// Does `SET` with `KEEPTTL`.
    pub(crate) fn set_keeping(&mut self, key: &[u8], text: &[u8]) -> Result<(), Value> {
        self.need_memory()?;
        let expires = self.keys.get(key).and_then(|entry| entry.expires);
        self.set_lasting(key, text);
        if let Some(entry) = self.keys.get_mut(key) {
            entry.expires = expires;
        }
        Ok(())
    }

    /// Does `SET`, without an expiry.
    pub fn set_lasting(&mut self, key: &[u8], text: &[u8]) {
        self.has_written = true;
        let entry = StoredKey::lasting(Data::Text(text.into()));
        self.keys.insert(key.into(), entry);
    }

    /// Does `DEL`. Returns true if the key existed.
    pub fn del(&mut self, key: &[u8]) -> bool {
        self.has_written = true;
        self.keys.remove(key).is_some()
    }

    /// Does `PTTL`. Returns the remaining ms, -1 for a key without expiry, or -2 for a missing key.
    pub fn pttl(&self, key: &[u8]) -> i64 {
        match self.keys.get(key) {
            None => -2,
            Some(entry) => entry.expires.map_or(-1, |it| it - self.millis),
        }
    }

    /// Does `PEXPIRE`.
    pub fn pexpire(&mut self, key: &[u8], ttl: i64) {
        self.has_written = true;
        if ttl <= 0 {
            self.keys.remove(key);
        } else if let Some(entry) = self.keys.get_mut(key) {
            entry.expires = Some(self.millis.saturating_add(ttl));
        }
    }

    /// Extends a key's life to at least `ttl` ms.
    pub(crate) fn ensure_ttl(&mut self, key: &[u8], ttl: i64) {
        if self.pttl(key) < ttl {
            self.pexpire(key, ttl);
        }
    }

    /// Does `ZADD` with `GT`, which keeps a higher score.
    pub fn zadd(&mut self, key: &[u8], score: i64, member: &[u8]) -> Result<(), Value> {
        self.need_memory()?;
        let entry = self.keys.entry(key.into());
        let entry = entry.or_insert_with(|| StoredKey::lasting(Data::Set(Members::new())));
        let Data::Set(set) = &mut entry.data else {
            return Err(wrong_type());
        };
        let known = set.entry(member.into()).or_insert(score);
        *known = score.max(*known);
        Ok(())
    }

    /// Does `ZSCORE`.
    pub fn zscore(&self, key: &[u8], member: &[u8]) -> Result<Option<i64>, Value> {
        Ok(self.entries(key)?.get(member).copied())
    }

    /// Does `ZREM`. Returns true if the set had the member.
    pub fn zrem(&mut self, key: &[u8], member: &[u8]) -> Result<bool, Value> {
        self.retain(key, |it, _| it != member)
    }

    /// Does `ZREMRANGEBYSCORE` from `-inf`.
    pub fn zremrangebyscore(&mut self, key: &[u8], to: i64) -> Result<bool, Value> {
        self.retain(key, |_, score| score > to)
    }

    /// Returns the highest score, as `ZRANGE` finds it.
    pub fn highest(&self, key: &[u8]) -> Result<Option<i64>, Value> {
        Ok(self.entries(key)?.values().max().copied())
    }

    /// Returns the members of a sorted set.
    pub fn entries(&self, key: &[u8]) -> Result<&Members, Value> {
        static EMPTY: Members = Members::new();
        match self.keys.get(key).map(|entry| &entry.data) {
            None => Ok(&EMPTY),
            Some(Data::Set(entries)) => Ok(entries),
            Some(Data::Text(_)) => Err(wrong_type()),
        }
    }

    /// True if a key may have changed since [`begin`](Self::begin).
    pub(crate) fn has_written(&self) -> bool {
        self.has_written
    }

    /// Returns the keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.keys().map(|key| &**key)
    }

    /// Refuses a command that may need memory on a full server, unless its script has written before.
    pub(crate) fn need_memory(&mut self) -> Result<(), Value> {
        if self.is_full && !self.has_written {
            return Err(Value::error(
                "OOM command not allowed when used memory > 'maxmemory'.",
            ));
        }
        self.has_written = true;
        Ok(())
    }

    /// Keeps the members that `stays` chooses, and removes an empty set. Returns true if a member was removed.
    fn retain(&mut self, key: &[u8], stays: impl Fn(&[u8], i64) -> bool) -> Result<bool, Value> {
        self.has_written = true;
        let set = match self.keys.get_mut(key).map(|entry| &mut entry.data) {
            None => return Ok(false),
            Some(Data::Set(set)) => set,
            Some(Data::Text(_)) => return Err(wrong_type()),
        };
        let known = set.len();
        set.retain(|member, score| stays(member, *score));
        let (has_gone, is_empty) = (set.len() < known, set.is_empty());
        if is_empty {
            self.keys.remove(key);
        }
        Ok(has_gone)
    }
}

/// Reads an argument as an integer. Lua also reads forms such as `1e3` and `0x7`, but no script writes those.
pub(crate) fn parse_integer(text: &[u8]) -> Result<i64, Value> {
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|it| it.parse().ok());
    number.ok_or_else(|| Value::error("ERR value is not an integer or out of range"))
}

/// Returns the error of a server for a command on a key of another type.
fn wrong_type() -> Value {
    Value::error("WRONGTYPE Operation against a key holding the wrong kind of value")
}

fn valid(ttl: i64) -> Result<(), Value> {
    if ttl <= 0 {
        return Err(Value::error("ERR invalid expire time in 'set' command"));
    }
    Ok(())
}

fn whole(number: u128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
