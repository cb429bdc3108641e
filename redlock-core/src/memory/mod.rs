//! A node inside the process, for development, examples and tests.

mod store;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::environment::Clock;
use crate::node::{Answer, EpochListener, Node, NodeStatus, Reply};
use crate::operation::Operation;
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
    store: Mutex<Store>,
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
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
