//! The keys of an in-process node, and the effects of operations on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::memory::sharing::Readers;
use crate::memory::trouble::Trouble;
use crate::model::resource::Resource;
use crate::node::holders::Holders;
use crate::node::operation::{HINT_WINDOW, Operation, Want, counter_ttl};
use crate::node::sharing::READERS_MARKER;
use crate::node::watch::KeyReport;
use crate::node::{Answer, Holding, Remaining};

/// The data of a server.
#[derive(Clone, Default)]
pub(super) struct Store {
    pub(super) entries: BTreeMap<Arc<[u8]>, StoredKey>,
    /// The sorted sets of readers.
    pub(super) readers: BTreeMap<Arc<[u8]>, Readers>,
    /// The expiry of each entry, so that idle keys are removed without a scan.
    expiries: BTreeSet<(Moment, Arc<[u8]>)>,
    pub(super) trouble: Trouble,
}

#[derive(Clone)]
pub(super) struct StoredKey {
    pub(super) value: Box<[u8]>,
    pub(super) expires: Moment,
}

impl StoredKey {
    /// The value and the remaining time, for another client.
    pub(super) fn seen(&self, now: Moment) -> Holding {
        let mut holding = Holding::by(&self.value);
        holding.remaining = Remaining::Expires(self.expires.saturating_since(now));
        holding
    }
}

/// The hint, limited to the window around the node's own clock.
pub(super) fn clamped(hint: u64, wall: Duration) -> u64 {
    let earliest = micros(wall.saturating_sub(HINT_WINDOW));
    let latest = micros(wall.saturating_add(HINT_WINDOW));
    hint.clamp(earliest, latest)
}

/// The time for which a counter with the value `counter` is kept: at least until the node's clock has
/// passed the value, as the next counter would be lower otherwise.
pub(super) fn kept_for(counter: u64, ttl: Duration, wall: Duration) -> Duration {
    let ahead = Duration::from_micros(counter.saturating_sub(micros(wall)));
    counter_ttl(ttl).saturating_add(ahead)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Store {
    pub(super) fn serve(&mut self, operation: &Operation, now: Moment, wall: Duration) -> Answer {
        if let Some(error) = self.trouble.reason() {
            // An operation that is a single SET on a server was certainly not run.
            let is_one_key = operation.keys().names().len() == 1
                && operation.counters().is_none()
                && operation.sharing().is_none();
            let is_set = matches!(operation.want(), Want::Acquire { .. }) && is_one_key;
            return Answer::Failed(match &self.trouble {
                Trouble::Fails(_) if is_set => error.into_unsent(),
                _ => error,
            });
        }
        let is_about_keys = matches!(
            operation.want(),
            Want::Inspect | Want::Remember { .. } | Want::Recall | Want::Peek | Want::ForceRelease
        );
        if let Some(sharing) = operation.sharing()
            && !is_about_keys
        {
            return self.serve_shared(operation, sharing, now, wall);
        }
        match operation.want() {
            Want::Acquire { ttl, hint } => {
                if let Some(refusal) = self.held(operation) {
                    return refusal;
                }
                let Some(counters) = operation.counters() else {
                    return self.acquire(operation, now.saturating_add(ttl));
                };
                self.acquire(operation, now.saturating_add(ttl));
                let next = self.next(counters, false).max(clamped(hint, wall));
                let expires = now.saturating_add(kept_for(next, ttl, wall));
                self.count(counters, next, expires)
            }
            Want::AcquirePermit { ttl } => self.acquire_permit(operation, ttl, now),
            Want::Confirm { counter, ttl } => {
                let expires = now.saturating_add(kept_for(counter, ttl, wall));
                self.confirm(operation, counter, expires)
            }
            Want::Extend { ttl } => self.extend(operation, ttl, now),
            Want::Restore { ttl } => self.restore(operation, now.saturating_add(ttl)),
            Want::Release { .. } => self.release(operation),
            Want::Inspect => self.inspect(operation.keys(), now),
            Want::Remember { ttl, longest, .. } => {
                let [expires, latest] = [ttl, longest].map(|span| now.saturating_add(span));
                self.remember(operation, expires, latest)
            }
            Want::Recall => self.recall(operation.keys(), now),
            Want::Peek => self.peek(operation.keys(), now),
            Want::ForceRelease => self.force_release(operation, now),
        }
    }

    /// The refusal of an acquisition, if a key is held.
    fn held(&self, acquisition: &Operation) -> Option<Answer> {
        let mut keys = acquisition.keys().names();
        let entry = keys.find_map(|key| self.entries.get(key))?;
        Some(Answer::Held(Holding::by(entry.value.clone())))
    }

    fn acquire(&mut self, operation: &Operation, expires: Moment) -> Answer {
        for key in operation.keys().names() {
            self.put(key, operation.token().as_bytes(), expires);
        }
        Answer::GRANTED
    }

    /// A number that is two above all counters, or not below any of them for a reader.
    pub(super) fn next(&self, counters: &Resource, is_reading: bool) -> u64 {
        let highest = counters.names().map(|key| self.counter(key)).max();
        let step = if is_reading { 0 } else { 2 };
        highest.unwrap_or(0).saturating_add(step)
    }

    pub(super) fn count(&mut self, counters: &Resource, next: u64, expires: Moment) -> Answer {
        for key in counters.names() {
            self.put(key, next.to_string().as_bytes(), expires);
        }
        Answer::Granted {
            counter: Some(next),
            epoch: 0,
            permits: None,
        }
    }

    fn confirm(&mut self, operation: &Operation, counter: u64, expires: Moment) -> Answer {
        if let Some(refusal) = self.refusal(operation) {
            return refusal;
        }
        for key in operation.counters().into_iter().flat_map(Resource::names) {
            if self.counter(key) < counter {
                self.put(key, counter.to_string().as_bytes(), expires);
            }
        }
        Answer::GRANTED
    }

    /// The value of a counter. A missing value, or one from which a server's script could not count on,
    /// is zero.
    pub(super) fn counter(&self, key: &[u8]) -> u64 {
        let digits = self.entries.get(key).map(|entry| &*entry.value);
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| digits.parse().ok());
        number.filter(|number| *number < (1 << 53) - 1).unwrap_or(0)
    }

    fn restore(&mut self, operation: &Operation, expires: Moment) -> Answer {
        if let Some(Answer::Held(holding)) = self.refusal(operation) {
            return Answer::Held(holding);
        }
        self.keep_until(operation, expires)
    }

    fn extend(&mut self, operation: &Operation, ttl: Duration, now: Moment) -> Answer {
        if let Some(refusal) = self.refusal(operation) {
            return refusal;
        }
        self.keep_counters(operation, ttl, now);
        self.keep_until(operation, now.saturating_add(ttl))
    }

    /// Lets the counters of a lock that is extended outlive it. A counter that is ahead of the clock has more
    /// time left than this already.
    pub(super) fn keep_counters(&mut self, extension: &Operation, ttl: Duration, now: Moment) {
        let expires = now.saturating_add(counter_ttl(ttl));
        for key in extension.counters().into_iter().flat_map(Resource::names) {
            if let Some(entry) = self.entries.get(key).filter(|it| it.expires < expires) {
                let value = entry.value.clone();
                self.put(key, &value, expires);
            }
        }
    }

    /// Sets the keys that are missing or expire before `expires`.
    fn keep_until(&mut self, operation: &Operation, expires: Moment) -> Answer {
        for key in operation.keys().names() {
            let entry = self.entries.get(key);
            if entry.is_none_or(|entry| entry.expires < expires) {
                self.put(key, operation.token().as_bytes(), expires);
            }
        }
        Answer::GRANTED
    }

    /// The refusal, unless all keys hold the operation's token.
    fn refusal(&self, operation: &Operation) -> Option<Answer> {
        let mut refusal = None;
        for key in operation.keys().names() {
            match self.entries.get(key) {
                Some(entry) if *entry.value == *operation.token().as_bytes() => {}
                Some(entry) => return Some(Answer::Held(Holding::by(entry.value.clone()))),
                None => refusal = Some(Answer::Absent),
            }
        }
        refusal
    }

    /// Deletes the keys that hold the operation's token, and answers whether there was one.
    fn release(&mut self, operation: &Operation) -> Answer {
        let (mut ours, mut others) = (false, false);
        for key in operation.keys().names() {
            match self.entries.get(key) {
                Some(entry) if *entry.value == *operation.token().as_bytes() => {
                    ours = true;
                    self.delete(key);
                }
                Some(_) => others = true,
                None => {}
            }
        }
        match (ours, others) {
            (true, _) => Answer::GRANTED,
            (false, true) => Answer::Held(Holding::default()),
            (false, false) => Answer::Absent,
        }
    }

    fn inspect(&self, keys: &Resource, now: Moment) -> Answer {
        match self.peek(keys, now) {
            // Of one key only the time is asked for.
            Answer::Held(holding) if keys.names().len() == 1 => {
                Answer::Held(Holding::unknown(holding.remaining))
            }
            answer => answer,
        }
    }

    /// Sets the keys to the run record. A key that expires between `expires` and `latest` stays.
    fn remember(&mut self, operation: &Operation, expires: Moment, latest: Moment) -> Answer {
        let record = operation.run_record();
        for key in operation.keys().names() {
            let stays = |it: &StoredKey| (expires..=latest).contains(&it.expires);
            if !self.entries.get(key).is_some_and(stays) {
                self.put(key, &record, expires);
            }
        }
        Answer::GRANTED
    }

    fn recall(&self, keys: &Resource, now: Moment) -> Answer {
        let entries: Option<Vec<_>> = keys.names().map(|key| self.entries.get(key)).collect();
        let first = entries.and_then(|entries| entries.into_iter().min_by_key(|it| it.expires));
        first.map_or(Answer::Absent, |entry| Answer::Held(entry.seen(now)))
    }

    fn peek(&self, keys: &Resource, now: Moment) -> Answer {
        let mut entries = keys.names().map(|key| self.entries.get(key)).enumerate();
        let Some((place, entry)) = entries.find_map(|(place, entry)| Some((place, entry?))) else {
            return Answer::Absent;
        };
        let mut holding = entry.seen(now);
        holding.place = u16::try_from(place).ok();
        Answer::Held(holding)
    }

    fn force_release(&mut self, operation: &Operation, now: Moment) -> Answer {
        let is_lost = |token: &[u8]| operation.holders().iter().any(|lost| **lost == *token);
        let (mut left, mut has_readers) = (Holders::default(), false);
        for key in operation.keys().names() {
            if let Some(readers) = self.readers.get_mut(key) {
                readers.retain(|token, _| !is_lost(token));
                let live = readers.iter().filter(|(_, ends)| **ends > now);
                has_readers |= live.clone().count() > 0;
                left.holding.extend(live.map(|(token, _)| token.clone()));
                continue;
            }
            match self.entries.get(key) {
                Some(entry) if is_lost(&entry.value) => self.delete(key),
                Some(entry) if Holders::is_waiting(key) => {
                    left.waiting.insert(entry.value.clone());
                }
                Some(entry) if *entry.value != *READERS_MARKER => {
                    left.holding.insert(entry.value.clone());
                }
                _ => {}
            }
        }
        for key in operation.keys().names() {
            let entry = self.entries.get(key);
            if !has_readers && entry.is_some_and(|it| *it.value == *READERS_MARKER) {
                self.delete(key);
            }
        }
        left.answer()
    }

    /// The report to a caller that waits for `keys`.
    pub(super) fn key_report(&self, keys: &Resource, now: Moment) -> KeyReport {
        if self.trouble.reason().is_some() {
            return KeyReport::Unknown;
        }
        let held = keys.names().filter_map(|key| self.entries.get(key));
        match held.map(|entry| entry.expires).max() {
            None => KeyReport::Free,
            Some(last) => KeyReport::Held(Remaining::Expires(last.saturating_since(now))),
        }
    }

    pub(super) fn put(&mut self, key: &[u8], value: &[u8], expires: Moment) {
        self.delete(key);
        let key: Arc<[u8]> = key.into();
        self.expiries.insert((expires, Arc::clone(&key)));
        self.entries.insert(
            key,
            StoredKey {
                value: value.into(),
                expires,
            },
        );
    }

    pub(super) fn delete(&mut self, key: &[u8]) {
        if let Some((key, entry)) = self.entries.remove_entry(key) {
            self.expiries.remove(&(entry.expires, key));
        }
    }

    /// Deletes a key of any type.
    pub(super) fn delete_any(&mut self, key: &[u8]) {
        self.delete(key);
        self.readers.remove(key);
    }

    /// Takes a key of any type out.
    #[cfg(feature = "simulation")]
    pub(super) fn take_key(&mut self, key: &[u8]) -> (Option<StoredKey>, Option<Readers>) {
        let entry = self.entries.get(key).cloned();
        let readers = self.readers.get(key).cloned();
        self.delete_any(key);
        (entry, readers)
    }

    /// Puts the keys that were taken out of another store.
    #[cfg(feature = "simulation")]
    pub(super) fn put_key(&mut self, key: &[u8], parts: (Option<StoredKey>, Option<Readers>)) {
        let (entry, readers) = parts;
        if let Some(entry) = entry {
            self.put(key, &entry.value, entry.expires);
        }
        self.readers
            .extend(readers.map(|readers| (Arc::from(key), readers)));
    }

    pub(super) fn expire(&mut self, now: Moment) {
        self.expire_readers(now);
        while let Some((expires, _)) = self.expiries.first() {
            if *expires > now {
                break;
            }
            if let Some((_, key)) = self.expiries.pop_first() {
                self.entries.remove(&key);
            }
        }
    }
}
