//! A node inside the process, for development, examples and tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::environment::{Clock, Moment};
use crate::node::{
    Answer, EpochListener, Holding, Node, NodeError, NodeErrorKind, NodeStatus, Remaining, Reply,
};
use crate::operation::{HINT_WINDOW, Operation, Want, counter_ttl};
use crate::resource::Resource;

/// A store in this process that answers as a Redis node would. It excludes nobody outside of the
/// process, which is why a configuration has to ask for it by name.
///
/// Clones are the same store.
#[derive(Clone)]
pub struct MemoryNode {
    shared: Arc<Shared>,
}

struct Shared {
    name: Arc<str>,
    clock: Arc<dyn Clock>,
    store: Mutex<Store>,
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
}

#[derive(Clone, Default)]
struct Store {
    entries: BTreeMap<Arc<[u8]>, Entry>,
    /// When each entry expires, so that idle keys are forgotten without a scan.
    expiries: BTreeSet<(Moment, Arc<[u8]>)>,
    is_cut: bool,
}

#[derive(Clone)]
struct Entry {
    value: Box<[u8]>,
    expires: Moment,
}

impl MemoryNode {
    /// An empty node whose keys expire by `clock`.
    pub fn new(name: impl Into<Arc<str>>, clock: Arc<dyn Clock>) -> Self {
        let shared = Shared {
            name: name.into(),
            clock,
            store: Mutex::default(),
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Makes the node unreachable: it votes no, and keeps what it holds.
    pub fn cut(&self) {
        self.lock().is_cut = true;
    }

    /// Undoes [`cut`](Self::cut).
    pub fn restore(&self) {
        self.lock().is_cut = false;
    }

    /// Begins a new epoch, as a node does that may have forgotten locks. It votes on, and keeps
    /// what it holds.
    pub fn begin_epoch(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Release);
        let listeners = self.shared.listeners.lock();
        let listeners = listeners.unwrap_or_else(PoisonError::into_inner).clone();
        for tell in listeners {
            tell();
        }
    }

    /// The value under `key`, unless it has expired.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.current()
            .entries
            .get(key)
            .map(|entry| entry.value.to_vec())
    }

    /// How long `key` will still be there.
    pub fn remaining(&self, key: &[u8]) -> Option<Duration> {
        let now = self.shared.clock.now();
        self.current()
            .entries
            .get(key)
            .map(|entry| entry.expires.saturating_since(now))
    }

    /// All keys that have not expired, in order.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        self.current()
            .entries
            .keys()
            .map(|key| key.to_vec())
            .collect()
    }

    /// Puts `value` under `key` for `ttl`, whatever was there: another client's lock.
    pub fn put(&self, key: &[u8], value: &[u8], ttl: Duration) {
        let expires = self.shared.clock.now().saturating_add(ttl);
        self.lock().put(key, value, expires);
    }

    /// Deletes `key`, whoever holds it.
    pub fn delete(&self, key: &[u8]) {
        self.lock().delete(key);
    }

    /// Serves `operation` and returns the answer: what a simulation needs, which carries requests
    /// and answers by itself.
    #[doc(hidden)]
    pub fn serve(&self, operation: &Operation) -> Answer {
        let now = self.shared.clock.now();
        let answer = self
            .current()
            .serve(operation, now, self.shared.clock.wall());
        let epoch = self.epoch();
        match answer {
            Answer::Granted { counter, .. } => Answer::Granted { counter, epoch },
            other => other,
        }
    }

    /// Another node with what this one holds now: what a server finds that restarts from its disk.
    #[doc(hidden)]
    #[must_use]
    pub fn fork(&self) -> Self {
        let copy = Self::new(
            Arc::clone(&self.shared.name),
            Arc::clone(&self.shared.clock),
        );
        *copy.lock() = self.current().clone();
        copy
    }

    fn current(&self) -> MutexGuard<'_, Store> {
        let now = self.shared.clock.now();
        let mut store = self.lock();
        store.expire(now);
        store
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        // No code that can panic runs under this lock.
        self.shared
            .store
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node for MemoryNode {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        // The answer may wake the caller, so it is given once the store's lock is free again.
        let answer = self.serve(&operation);
        reply.answer(answer);
    }

    fn status(&self) -> NodeStatus {
        if self.lock().is_cut {
            NodeStatus::Abstaining(unreachable())
        } else {
            NodeStatus::Voting
        }
    }

    fn epoch(&self) -> u32 {
        self.shared.epoch.load(Ordering::Acquire)
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        let mut listeners = self
            .shared
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(listener);
    }
}

impl fmt::Debug for MemoryNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryNode")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}

fn unreachable() -> NodeError {
    NodeError::unsent(NodeErrorKind::NotConnected, "cut off")
}

/// The hint, no further from the node's own clock than the window.
fn clamped(hint: u64, wall: Duration) -> u64 {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let earliest = micros(wall.saturating_sub(HINT_WINDOW));
    let latest = micros(wall.saturating_add(HINT_WINDOW));
    hint.clamp(earliest, latest)
}

impl Store {
    fn serve(&mut self, operation: &Operation, now: Moment, wall: Duration) -> Answer {
        if self.is_cut {
            // The only operation that a cut node still serves is the release: it stands for the
            // one that a real node gets after the reconnection.
            if matches!(operation.want(), Want::Release { .. }) {
                self.release(operation);
            }
            return Answer::Failed(unreachable());
        }
        match operation.want() {
            Want::Acquire { ttl, hint } => {
                let granted = self.acquire(operation, now.saturating_add(ttl));
                match operation.counters() {
                    Some(counters) if granted == Answer::GRANTED => {
                        let hint = clamped(hint, wall);
                        self.count(counters, hint, now.saturating_add(counter_ttl(ttl)))
                    }
                    _ => granted,
                }
            }
            Want::Confirm { counter, ttl } => {
                self.confirm(operation, counter, now.saturating_add(counter_ttl(ttl)))
            }
            Want::Extend { ttl } => self.extend(operation, now.saturating_add(ttl)),
            Want::Restore { ttl } => self.restore(operation, now.saturating_add(ttl)),
            Want::Release { .. } => self.release(operation),
            Want::Inspect => self.inspect(operation.keys(), now),
        }
    }

    fn acquire(&mut self, operation: &Operation, expires: Moment) -> Answer {
        let keys = operation.keys();
        if let Some(entry) = keys.names().find_map(|key| self.entries.get(key)) {
            return Answer::Held(Holding::by(entry.value.clone()));
        }
        for key in keys.names() {
            self.put(key, operation.token().as_bytes(), expires);
        }
        Answer::GRANTED
    }

    /// One number above all counters, and no less than the hint.
    fn count(&mut self, counters: &Resource, hint: u64, expires: Moment) -> Answer {
        let highest = counters.names().map(|key| self.counter(key)).max();
        let next = highest.unwrap_or(0).saturating_add(1).max(hint);
        for key in counters.names() {
            self.put(key, next.to_string().as_bytes(), expires);
        }
        Answer::Granted {
            counter: Some(next),
            epoch: 0,
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

    /// What a counter stands at; nothing, or what is no number that a server's script could count
    /// on from, is zero.
    fn counter(&self, key: &[u8]) -> u64 {
        let digits = self.entries.get(key).map(|entry| &*entry.value);
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| digits.parse().ok());
        number.filter(|number| *number < (1 << 53) - 1).unwrap_or(0)
    }

    fn restore(&mut self, operation: &Operation, expires: Moment) -> Answer {
        if let Some(Answer::Held(holding)) = self.refusal(operation) {
            return Answer::Held(holding);
        }
        for key in operation.keys().names() {
            if !self.entries.contains_key(key) {
                self.put(key, operation.token().as_bytes(), expires);
            }
        }
        Answer::GRANTED
    }

    fn extend(&mut self, operation: &Operation, expires: Moment) -> Answer {
        if let Some(refusal) = self.refusal(operation) {
            return refusal;
        }
        for key in operation.keys().names() {
            if self
                .entries
                .get(key)
                .is_some_and(|entry| entry.expires < expires)
            {
                self.put(key, operation.token().as_bytes(), expires);
            }
        }
        Answer::GRANTED
    }

    /// Unless all keys hold the operation's token: what they hold instead.
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
        match keys.names().next().and_then(|key| self.entries.get(key)) {
            None => Answer::Absent,
            Some(entry) => {
                let left = entry.expires.saturating_since(now);
                Answer::Held(Holding::unknown(Remaining::Expires(left)))
            }
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8], expires: Moment) {
        self.delete(key);
        let key: Arc<[u8]> = key.into();
        self.expiries.insert((expires, Arc::clone(&key)));
        self.entries.insert(
            key,
            Entry {
                value: value.into(),
                expires,
            },
        );
    }

    fn delete(&mut self, key: &[u8]) {
        if let Some((key, entry)) = self.entries.remove_entry(key) {
            self.expiries.remove(&(entry.expires, key));
        }
    }

    fn expire(&mut self, now: Moment) {
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
