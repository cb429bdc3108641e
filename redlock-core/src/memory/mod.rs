//! A node inside the process, for development, examples and tests.

mod store;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::environment::{Clock, Moment};
use crate::node::{Answer, EpochListener, Node, NodeStatus, Reply};
use crate::operation::Operation;
use crate::timekeeper::wake;
use crate::vigil::Watch;
use store::{Store, unreachable};

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
    state: Mutex<State>,
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
}

#[derive(Default)]
struct State {
    store: Store,
    watches: Vec<Watch>,
}

impl State {
    /// Tells whoever waits what is there now. The reports are in order, as they are made under the
    /// node's lock; the callers are to be woken once it is free.
    fn tell(&mut self, now: Moment) -> Vec<Waker> {
        self.watches.retain(Watch::is_wanted);
        let store = &self.store;
        let told = self.watches.iter();
        told.filter_map(|watch| watch.record(store.sighting(watch.keys(), now)))
            .collect()
    }
}

impl MemoryNode {
    /// An empty node whose keys expire by `clock`.
    pub fn new(name: impl Into<Arc<str>>, clock: Arc<dyn Clock>) -> Self {
        let shared = Shared {
            name: name.into(),
            clock,
            state: Mutex::default(),
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Makes the node unreachable: it votes no, and keeps what it holds.
    pub fn cut(&self) {
        self.change(|store, _| store.is_cut = true);
    }

    /// Undoes [`cut`](Self::cut).
    pub fn restore(&self) {
        self.change(|store, _| store.is_cut = false);
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
            .store
            .entries
            .get(key)
            .map(|entry| entry.value.to_vec())
    }

    /// How long `key` will still be there.
    pub fn remaining(&self, key: &[u8]) -> Option<Duration> {
        let now = self.shared.clock.now();
        self.current()
            .store
            .entries
            .get(key)
            .map(|entry| entry.expires.saturating_since(now))
    }

    /// All keys that have not expired, in order.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        self.current()
            .store
            .entries
            .keys()
            .map(|key| key.to_vec())
            .collect()
    }

    /// Puts `value` under `key` for `ttl`, whatever was there: another client's lock.
    pub fn put(&self, key: &[u8], value: &[u8], ttl: Duration) {
        self.change(|store, now| store.put(key, value, now.saturating_add(ttl)));
    }

    /// Deletes `key`, whoever holds it.
    pub fn delete(&self, key: &[u8]) {
        self.change(|store, _| store.delete(key));
    }

    /// Serves `operation` and returns the answer: what a simulation needs, which carries requests
    /// and answers by itself.
    #[doc(hidden)]
    pub fn serve(&self, operation: &Operation) -> Answer {
        let wall = self.shared.clock.wall();
        let answer = self.change(|store, now| store.serve(operation, now, wall));
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
        copy.lock().store = self.current().store.clone();
        copy
    }

    /// Does something to what is there now, and tells whoever waits.
    fn change<T>(&self, change: impl FnOnce(&mut Store, Moment) -> T) -> T {
        let now = self.shared.clock.now();
        let (changed, woken) = {
            let mut state = self.lock();
            state.store.expire(now);
            (change(&mut state.store, now), state.tell(now))
        };
        woken.into_iter().for_each(wake);
        changed
    }

    fn current(&self) -> MutexGuard<'_, State> {
        let now = self.shared.clock.now();
        let mut state = self.lock();
        state.store.expire(now);
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.shared
            .state
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
        if self.lock().store.is_cut {
            NodeStatus::Abstaining(unreachable())
        } else {
            NodeStatus::Voting
        }
    }

    fn watch(&self, watch: Watch) {
        let now = self.shared.clock.now();
        let woken = {
            let mut state = self.lock();
            state.store.expire(now);
            state.watches.push(watch);
            state.tell(now)
        };
        woken.into_iter().for_each(wake);
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
