//! Readers and writers at an in-process node: what the scripts of a server do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::model::resource::Resource;
use crate::node::operation::{Operation, Want};
use crate::node::sharing::{READERS_MARKER, READERS_TURN, Sharing};
use crate::node::{Answer, Holding, Obstacle};

use super::store::{Store, clamped, kept_for};

const WAITING: &[u8] = b"waiting";
const TURN: &[u8] = b"turn";

/// The readers of one lock: the end of each entry by its token.
pub(super) type Readers = BTreeMap<Box<[u8]>, Moment>;

/// One operation of a reader or a writer, and the state of its lock.
struct Shared<'a> {
    store: &'a mut Store,
    operation: &'a Operation,
    sharing: &'a Sharing,
    key: Arc<[u8]>,
    now: Moment,
}

/// What the lock's key holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Readers,
    Ours,
    Anothers,
}

impl Store {
    pub(super) fn serve_shared(
        &mut self,
        operation: &Operation,
        sharing: &Sharing,
        now: Moment,
        wall: Duration,
    ) -> Answer {
        let key = operation.keys().names().next().unwrap_or_default().into();
        let mut shared = Shared {
            store: self,
            operation,
            sharing,
            key,
            now,
        };
        match operation.want() {
            Want::Acquire { ttl, hint } => match shared.refusal() {
                Some(refusal) => shared.refuse(refusal),
                None => shared.admit(ttl, hint, wall),
            },
            Want::Confirm { counter, ttl } => {
                let expires = now.saturating_add(kept_for(counter, ttl, wall));
                shared.confirm(counter, expires)
            }
            Want::Extend { ttl } => shared.extend(ttl),
            Want::Restore { ttl } => shared.restore(ttl),
            Want::Release { .. } => shared.release(),
            Want::AcquirePermit { .. }
            | Want::Inspect
            | Want::Remember { .. }
            | Want::Recall
            | Want::Peek
            | Want::ForceRelease => Answer::Absent,
        }
    }

    /// Removes the sets of readers whose last entry has ended.
    pub(super) fn expire_readers(&mut self, now: Moment) {
        let is_live = |readers: &Readers| readers.values().any(|ends| *ends > now);
        self.readers.retain(|_, readers| is_live(readers));
    }
}

impl Shared<'_> {
    fn token(&self) -> &[u8] {
        self.operation.token().as_bytes()
    }

    fn value(&self, key: &[u8]) -> Option<&[u8]> {
        self.store.entries.get(key).map(|entry| &*entry.value)
    }

    fn found(&self) -> Found {
        match self.value(&self.key) {
            None => Found::Nothing,
            Some(READERS_MARKER) => Found::Readers,
            Some(value) if value == self.token() => Found::Ours,
            Some(_) => Found::Anothers,
        }
    }

    fn readers(&self) -> Option<&Readers> {
        self.store.readers.get(self.sharing.keys().readers())
    }

    /// The end of our entry, if it counts.
    fn ends(&self) -> Option<Moment> {
        let ends = *self.readers()?.get(self.token())?;
        (self.found() == Found::Readers && ends > self.now).then_some(ends)
    }

    fn is_readers_turn(&self) -> bool {
        self.value(self.sharing.keys().turn()) == Some(TURN)
    }

    /// The refusal of an acquisition, if there is one.
    fn refusal(&self) -> Option<Holding> {
        let value = self.value(&self.key);
        if let Some(value) = value
            && value != READERS_MARKER
        {
            return Some(Holding::by(value));
        }
        if self.sharing.is_reading() {
            let writer = self.value(self.sharing.keys().intent());
            if let Some(writer) = writer
                && !self.is_readers_turn()
            {
                return Some(Holding::advice(Obstacle::WaitingWriter, Some(writer)));
            }
            return None;
        }
        let is_live = |readers: &Readers| readers.values().any(|ends| *ends > self.now);
        if value.is_some() && self.readers().is_some_and(is_live) {
            return Some(Holding::readers());
        }
        let advice = || Holding::advice(Obstacle::ReadersTurn, None);
        self.is_readers_turn().then(advice)
    }

    /// Remembers a refusal, if another attempt follows.
    fn refuse(&mut self, refusal: Holding) -> Answer {
        let keys = self.sharing.keys();
        let until = self.now.saturating_add(self.sharing.advice);
        if self.sharing.advice.is_zero() {
            return Answer::Held(refusal);
        }
        if self.sharing.is_reading() {
            if !self.is_readers_turn() {
                self.store.put(keys.turn(), WAITING, until);
            }
        } else {
            let id = self.sharing.intent_id();
            if self.value(keys.intent()).is_none_or(|known| known == id) {
                self.store.put(keys.intent(), id, until);
            }
        }
        Answer::Held(refusal)
    }

    fn admit(&mut self, ttl: Duration, hint: u64, wall: Duration) -> Answer {
        let is_reading = self.sharing.is_reading();
        let mut counter = None;
        if let Some(counters) = self.operation.counters() {
            let next = self.store.next(counters, is_reading);
            let next = next.max(clamped(hint, wall));
            let expires = self.now.saturating_add(kept_for(next, ttl, wall));
            self.store.count(counters, next, expires);
            counter = Some(next);
        }
        let until = self.now.saturating_add(ttl);
        if is_reading {
            if self.found() == Found::Nothing {
                self.store.readers.remove(self.sharing.keys().readers());
            }
            self.enter(until);
        } else {
            let (key, keys) = (Arc::clone(&self.key), self.sharing.keys());
            self.store
                .put(&key, self.operation.token().as_bytes(), until);
            self.store.readers.remove(keys.readers());
            self.withdraw();
        }
        Answer::Granted {
            counter,
            epoch: 0,
            permits: None,
        }
    }

    /// Deletes the intent, if it is the operation's.
    fn withdraw(&mut self) {
        let (intent, id) = (self.sharing.keys().intent(), self.sharing.intent_id());
        if !id.is_empty() && self.value(intent) == Some(id) {
            self.store.delete(intent);
        }
    }

    /// Makes our entry, or moves its end forward.
    fn enter(&mut self, until: Moment) {
        let token = self.token().into();
        let readers = self.sharing.keys().readers().into();
        let readers = self.store.readers.entry(readers).or_default();
        let ends = readers.entry(token).or_insert(until);
        *ends = until.max(*ends);
        self.settle();
    }

    /// Lets the key live for as long as the reader that stays longest.
    fn settle(&mut self) {
        let (now, key) = (self.now, Arc::clone(&self.key));
        let name = self.sharing.keys().readers();
        let readers = self.store.readers.get_mut(name);
        let last = readers.and_then(|readers| {
            readers.retain(|_, ends| *ends > now);
            readers.values().max().copied()
        });
        if let Some(last) = last {
            self.store.put(&key, READERS_MARKER, last);
        } else {
            self.store.readers.remove(name);
            self.store.delete(&key);
        }
    }

    /// The answer to a reader that has no entry.
    fn missing(&self) -> Answer {
        match self.value(&self.key) {
            None | Some(READERS_MARKER) => Answer::Absent,
            Some(value) => Answer::Held(Holding::by(value)),
        }
    }

    fn confirm(&mut self, counter: u64, expires: Moment) -> Answer {
        if self.ends().is_none() {
            return self.missing();
        }
        let counters = self.operation.counters();
        for key in counters.into_iter().flat_map(Resource::names) {
            if self.store.counter(key) < counter {
                self.store.put(key, counter.to_string().as_bytes(), expires);
            }
        }
        Answer::GRANTED
    }

    fn extend(&mut self, ttl: Duration) -> Answer {
        if self.ends().is_none() {
            return self.missing();
        }
        self.enter(self.now.saturating_add(ttl));
        self.store.keep_counters(self.operation, ttl, self.now);
        Answer::GRANTED
    }

    fn restore(&mut self, ttl: Duration) -> Answer {
        match self.found() {
            Found::Ours | Found::Anothers => return Answer::Held(Holding::default()),
            Found::Nothing => {
                self.store.readers.remove(self.sharing.keys().readers());
            }
            Found::Readers => {}
        }
        self.enter(self.now.saturating_add(ttl));
        Answer::GRANTED
    }

    /// Readers that were refused go in next.
    fn give_turn(&mut self) {
        let turn = self.sharing.keys().turn();
        if self.sharing.is_last && self.value(turn) == Some(WAITING) {
            let until = self.now.saturating_add(READERS_TURN);
            self.store.put(turn, TURN, until);
        }
    }

    fn release(&mut self) -> Answer {
        self.withdraw();
        let found = self.found();
        if found == Found::Ours {
            let key = Arc::clone(&self.key);
            self.store.delete(&key);
            self.give_turn();
            return Answer::GRANTED;
        }
        let name = self.sharing.keys().readers();
        let token = self.operation.token().as_bytes();
        let readers = self.store.readers.get_mut(name);
        if readers.is_some_and(|readers| readers.remove(token).is_some()) {
            if found == Found::Readers {
                self.settle();
            }
            return Answer::GRANTED;
        }
        match found {
            Found::Nothing => Answer::Absent,
            _ => Answer::Held(Holding::default()),
        }
    }
}
