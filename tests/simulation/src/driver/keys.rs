//! What a server keeps: keys that expire, and what its commands and scripts do to them.

use std::collections::BTreeMap;

use super::log::{Did, Kind};

/// A server's memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys(BTreeMap<Vec<u8>, Entry>);

#[derive(Clone, Debug)]
struct Entry {
    value: Vec<u8>,
    /// In µs.
    until: Option<u64>,
}

/// What an operation says, apart from its keys.
#[derive(Debug, Default)]
pub(super) struct Terms<'a> {
    pub(super) token: &'a [u8],
    /// The ttl in ms, or the counter that is to be confirmed.
    pub(super) number: u64,
    pub(super) hint: u64,
    pub(super) window: u64,
    pub(super) counter_ttl: u64,
}

impl Keys {
    /// The keys that have expired by `now`, which are gone with it.
    pub(super) fn expire(&mut self, now: u64) -> Vec<Vec<u8>> {
        let is_over = |entry: &Entry| entry.until.is_some_and(|until| until <= now);
        let over = self.0.iter().filter(|(_, entry)| is_over(entry));
        let over: Vec<_> = over.map(|(key, _)| key.clone()).collect();
        for key in &over {
            self.0.remove(key);
        }
        over
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.0.get(key).map(|entry| &entry.value[..])
    }

    pub(super) fn set(&mut self, key: &[u8], value: &[u8], until: Option<u64>) {
        let value = value.to_vec();
        self.0.insert(key.to_vec(), Entry { value, until });
    }

    /// Whether the key was there.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        self.0.remove(key).is_some()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0
            .iter()
            .map(|(key, entry)| (&key[..], &entry.value[..]))
    }

    /// Takes the keys for which `is_wanted` holds from `other`.
    pub(super) fn take_from(&mut self, other: &mut Self, is_wanted: impl Fn(&[u8]) -> bool) {
        let keys: Vec<_> = other
            .0
            .keys()
            .filter(|key| is_wanted(key))
            .cloned()
            .collect();
        for key in keys {
            self.0.extend(other.0.remove_entry(&key));
        }
    }

    /// In ms, as `PTTL` has it.
    pub(super) fn left(&self, key: &[u8], now: u64) -> i64 {
        match self.0.get(key).map(|entry| entry.until) {
            None => -2,
            Some(None) => -1,
            Some(Some(until)) => i64::try_from((until - now) / 1000).unwrap_or(i64::MAX),
        }
    }

    /// The first of `locks` that exists: its place and its value.
    pub(super) fn first(&self, locks: &[Vec<u8>]) -> Option<(usize, Vec<u8>)> {
        let mut values = locks.iter().map(|key| self.get(key)).enumerate();
        values.find_map(|(place, value)| Some((place, value?.to_vec())))
    }

    /// Serves `kind` on `locks`, with as many `counters` where a fencing token is wanted.
    pub(super) fn serve(
        &mut self,
        kind: Kind,
        (locks, counters): (&[Vec<u8>], &[Vec<u8>]),
        terms: &Terms<'_>,
        now: u64,
    ) -> Did {
        let until = now + terms.number * 1000;
        match kind {
            Kind::Acquire => self.acquire((locks, counters), terms, now),
            Kind::Confirm => {
                let did = self.possession(locks, terms.token);
                if matches!(did, Did::Granted(_)) {
                    for counter in counters {
                        if self.count(counter) < terms.number {
                            self.put_count(counter, terms.number, now + terms.counter_ttl * 1000);
                        }
                    }
                }
                did
            }
            Kind::Extend => {
                let did = self.possession(locks, terms.token);
                if matches!(did, Did::Granted(_)) {
                    self.expire_at(locks, |old| old.max(until));
                }
                did
            }
            Kind::Restore => {
                let mut held = locks.iter().filter_map(|key| self.get(key));
                if held.any(|value| value != terms.token) {
                    return Did::Held(None);
                }
                for key in locks {
                    if self.get(key).is_none() {
                        self.set(key, terms.token, Some(until));
                    }
                }
                self.expire_at(locks, |old| old.max(until));
                Did::Granted(None)
            }
            Kind::Shorten | Kind::Release => {
                let mut did = Did::Absent;
                for key in locks {
                    match self.get(key) {
                        Some(value) if value == terms.token => {
                            if kind == Kind::Release {
                                self.0.remove(key);
                            } else {
                                self.expire_at(std::slice::from_ref(key), |old| old.min(until));
                            }
                            did = Did::Granted(None);
                        }
                        Some(_) if did == Did::Absent => did = Did::Held(None),
                        _ => {}
                    }
                }
                did
            }
            Kind::Inspect => {
                let place = self.first(locks).map_or(0, |(place, _)| place);
                Did::Left(self.left(&locks[place], now))
            }
        }
    }

    fn acquire(
        &mut self,
        (locks, counters): (&[Vec<u8>], &[Vec<u8>]),
        terms: &Terms<'_>,
        now: u64,
    ) -> Did {
        for key in locks {
            if let Some(value) = self.get(key) {
                return Did::Held(Some(value.to_vec()));
            }
        }
        for key in locks {
            self.set(key, terms.token, Some(now + terms.number * 1000));
        }
        if counters.is_empty() {
            return Did::Granted(None);
        }
        let wall = now + super::EPOCH_MICROS;
        let hint = terms.hint.clamp(wall - terms.window, wall + terms.window);
        let stands = counters.iter().map(|key| self.count(key) + 1);
        let count = stands.fold(hint, u64::max);
        for key in counters {
            self.put_count(key, count, now + terms.counter_ttl * 1000);
        }
        Did::Granted(Some(count))
    }

    fn possession(&self, locks: &[Vec<u8>], token: &[u8]) -> Did {
        let held = || locks.iter().map(|key| self.get(key));
        if held().flatten().any(|value| value != token) {
            Did::Held(None)
        } else if held().any(|value| value.is_none()) {
            Did::Absent
        } else {
            Did::Granted(None)
        }
    }

    fn expire_at(&mut self, locks: &[Vec<u8>], change: impl Fn(u64) -> u64) {
        for key in locks {
            if let Some(until) = self.0.get_mut(key).and_then(|entry| entry.until.as_mut()) {
                *until = change(*until);
            }
        }
    }

    fn count(&self, key: &[u8]) -> u64 {
        let digits = self
            .get(key)
            .and_then(|value| std::str::from_utf8(value).ok());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    fn put_count(&mut self, key: &[u8], count: u64, until: u64) {
        self.set(key, count.to_string().as_bytes(), Some(until));
    }
}
