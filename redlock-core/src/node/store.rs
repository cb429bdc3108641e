//! The keys of a node in this process: what twins of scripts run over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::value::Value;
use crate::env::Moment;

/// The members of a sorted set, with their scores.
pub(crate) type Members = BTreeMap<Box<[u8]>, i64>;

/// Keys with texts and sorted sets, each with an expiry, and the node's clocks.
///
/// Methods with the name of a command do what the command does: on a key of another type they return the error of a
/// server, and on a full server those that need memory do, unless a write came before.
#[derive(Clone, Default)]
pub struct Store {
    keys: BTreeMap<Arc<[u8]>, Entry>,
    /// The expiry of each key, so that idle keys are removed without a scan.
    expiries: BTreeSet<(Moment, Arc<[u8]>)>,
    /// In whole ms.
    now: Moment,
    wall: Duration,
    is_full: bool,
    has_written: bool,
}

/// What a key holds, and until when.
#[derive(Clone)]
pub struct Entry {
    data: Data,
    /// A key without an expiry lasts.
    expires: Option<Moment>,
}

#[derive(Clone)]
enum Data {
    Text(Box<[u8]>),
    Set(Members),
}

impl Store {
    /// Begins a call: sets the clocks, and removes the keys that have expired. True if there were any. Servers
    /// count in ms, and so `now` is truncated to these.
    pub fn begin(&mut self, now: Moment, wall: Duration) -> bool {
        let millis = whole(now.since_origin().as_millis());
        self.now = at(millis);
        self.wall = wall;
        self.has_written = false;
        let known = self.keys.len();
        while let Some((expires, _)) = self.expiries.first() {
            if *expires > self.now {
                break;
            }
            if let Some((_, key)) = self.expiries.pop_first() {
                self.keys.remove(&key);
            }
        }
        self.keys.len() < known
    }

    /// Makes the server full, or gives it memory again.
    pub fn fill(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// The ms since the clock's origin. Expiries and the scores of entries go by it.
    pub fn millis(&self) -> i64 {
        whole(self.now.since_origin().as_millis())
    }

    /// The µs since 1970, as `TIME` says. Fencing counters and markers go by it.
    pub fn micros(&self) -> i64 {
        whole(self.wall.as_micros())
    }

    /// `GET`.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, Value> {
        match self.keys.get(key).map(|entry| &entry.data) {
            None => Ok(None),
            Some(Data::Text(text)) => Ok(Some(text)),
            Some(Data::Set(_)) => Err(wrong_type()),
        }
    }

    /// True if `key` holds `text`.
    pub fn says(&self, key: &[u8], text: &[u8]) -> bool {
        self.get(key) == Ok(Some(text))
    }

    /// `EXISTS`.
    pub fn exists(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// `SET` with `PX`.
    pub fn set(&mut self, key: &[u8], text: &[u8], ttl: i64) -> Result<(), Value> {
        self.need_memory()?;
        valid(ttl)?;
        self.set_until(key, text, Some(self.after(ttl)));
        Ok(())
    }

    /// `SET` with `NX` and `PX`. True if the key was missing.
    pub fn set_nx(&mut self, key: &[u8], text: &[u8], ttl: i64) -> Result<bool, Value> {
        if !self.exists(key) {
            self.set(key, text, ttl)?;
            return Ok(true);
        }
        self.need_memory()?;
        valid(ttl)?;
        Ok(false)
    }

    /// Sets `key` to `text` until `expires`, or for good.
    pub fn set_until(&mut self, key: &[u8], text: &[u8], expires: Option<Moment>) {
        let data = Data::Text(text.into());
        self.put(key, Entry { data, expires });
    }

    /// `DEL`. True if the key existed.
    pub fn del(&mut self, key: &[u8]) -> bool {
        self.has_written = true;
        self.take(key).is_some()
    }

    /// `PTTL`: the remaining ms, -1 if the key does not expire, -2 if it does not exist.
    pub fn pttl(&self, key: &[u8]) -> i64 {
        match self.keys.get(key) {
            None => -2,
            Some(entry) => entry
                .expires
                .map_or(-1, |it| whole(it.saturating_since(self.now).as_millis())),
        }
    }

    /// `PEXPIRE`.
    pub fn pexpire(&mut self, key: &[u8], ttl: i64) {
        self.has_written = true;
        if let Some(entry) = self.take(key)
            && ttl > 0
        {
            let expires = Some(self.after(ttl));
            self.put(key, Entry { expires, ..entry });
        }
    }

    /// `ZADD` with `GT`: a score that is higher already stays.
    pub fn zadd(&mut self, key: &[u8], score: i64, member: &[u8]) -> Result<(), Value> {
        self.need_memory()?;
        if !self.exists(key) {
            let (data, expires) = (Data::Set(Members::new()), None);
            self.put(key, Entry { data, expires });
        }
        if let Some(set) = self.set_mut(key)? {
            let known = set.entry(member.into()).or_insert(score);
            *known = score.max(*known);
        }
        Ok(())
    }

    /// `ZSCORE`.
    pub fn zscore(&self, key: &[u8], member: &[u8]) -> Result<Option<i64>, Value> {
        Ok(self.entries(key)?.get(member).copied())
    }

    /// `ZREM`. True if the set had the member.
    pub fn zrem(&mut self, key: &[u8], member: &[u8]) -> Result<bool, Value> {
        self.retain(key, |it, _| it != member)
    }

    /// `ZREMRANGEBYSCORE` from `-inf`.
    pub fn zremrangebyscore(&mut self, key: &[u8], to: i64) -> Result<bool, Value> {
        self.retain(key, |_, score| score > to)
    }

    /// The highest score, as `ZRANGE` finds it.
    pub fn highest(&self, key: &[u8]) -> Result<Option<i64>, Value> {
        Ok(self.entries(key)?.values().max().copied())
    }

    /// The members of a sorted set.
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

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.keys().map(|key| &**key)
    }

    /// The moment when `key` expires, if it exists and expires.
    pub fn expiry(&self, key: &[u8]) -> Option<Moment> {
        self.keys.get(key)?.expires
    }

    /// Takes `key` out, of any type.
    pub fn take(&mut self, key: &[u8]) -> Option<Entry> {
        let (key, entry) = self.keys.remove_entry(key)?;
        if let Some(expires) = entry.expires {
            self.expiries.remove(&(expires, key));
        }
        Some(entry)
    }

    /// Puts `entry`, which may be from another store with the same clock, at `key`.
    pub fn put(&mut self, key: &[u8], entry: Entry) {
        self.has_written = true;
        self.take(key);
        let key: Arc<[u8]> = key.into();
        if let Some(expires) = entry.expires {
            self.expiries.insert((expires, Arc::clone(&key)));
        }
        self.keys.insert(key, entry);
    }

    fn after(&self, ttl: i64) -> Moment {
        at(self.millis().saturating_add(ttl))
    }

    /// A full server refuses a command that may need memory, unless its script wrote before.
    pub(crate) fn need_memory(&mut self) -> Result<(), Value> {
        if self.is_full && !self.has_written {
            return Err(Value::error(
                "OOM command not allowed when used memory > 'maxmemory'.",
            ));
        }
        self.has_written = true;
        Ok(())
    }

    fn set_mut(&mut self, key: &[u8]) -> Result<Option<&mut Members>, Value> {
        match self.keys.get_mut(key).map(|entry| &mut entry.data) {
            None => Ok(None),
            Some(Data::Set(set)) => Ok(Some(set)),
            Some(Data::Text(_)) => Err(wrong_type()),
        }
    }

    /// Keeps the members that `stays` chooses, and the set if any is left. True if one went.
    fn retain(&mut self, key: &[u8], stays: impl Fn(&[u8], i64) -> bool) -> Result<bool, Value> {
        self.has_written = true;
        let Some(set) = self.set_mut(key)? else {
            return Ok(false);
        };
        let known = set.len();
        set.retain(|member, score| stays(member, *score));
        let (has_gone, is_empty) = (set.len() < known, set.is_empty());
        if is_empty {
            self.take(key);
        }
        Ok(has_gone)
    }
}

/// The error of a server for a command on a key of another type.
fn wrong_type() -> Value {
    Value::error("WRONGTYPE Operation against a key holding the wrong kind of value")
}

fn valid(ttl: i64) -> Result<(), Value> {
    if ttl <= 0 {
        return Err(Value::error("ERR invalid expire time in 'set' command"));
    }
    Ok(())
}

fn at(millis: i64) -> Moment {
    Moment::from_origin(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

fn whole(number: u128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
