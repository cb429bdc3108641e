//! A node inside the process, for development, examples and tests.

mod permits;
mod sharing;
mod store;
#[cfg(test)]
mod tests;
mod trouble;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::env::caught::caught;
use crate::env::timers::wake;
use crate::env::{Clock, Moment};
use crate::node::operation::{Operation, Want};
use crate::node::watch::Watch;
use crate::node::{Answer, EpochListener, Node, NodeError, NodeStatus, Reply};
use store::Store;
use trouble::Trouble;

/// A node in this process, which answers as a Redis node does. It excludes no other process, so a
/// configuration must name it.
///
/// Clones are the same store.
#[derive(Clone)]
pub struct MemoryNode {
    shared: Arc<Shared>,
}

struct Shared {
    name: Arc<str>,
    clock: Arc<dyn Clock>,
    state: Mutex<MemoryState>,
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
}

#[derive(Default)]
struct MemoryState {
    store: Store,
    watches: Vec<Watch>,
    /// Operations that arrived while the node hangs, in order.
    unanswered: VecDeque<(Arc<Operation>, Reply)>,
    /// Releases that the node did not serve, and the moment until which their keys may live.
    owed: VecDeque<(Arc<Operation>, Moment)>,
}

impl MemoryState {
    /// Serves `operation`. A release that the node does not serve, because it is in trouble, is owed.
    fn serve(&mut self, operation: &Arc<Operation>, now: Moment, wall: Duration) -> Answer {
        let answer = self.store.serve(operation, now, wall);
        if let (Answer::Failed(_), Want::Release { ttl }) = (&answer, operation.want()) {
            while self.owed.front().is_some_and(|(_, until)| *until <= now) {
                self.owed.pop_front();
            }
            self.owed
                .push_back((Arc::clone(operation), now.saturating_add(ttl)));
        }
        answer
    }

    /// True if a barrier fails: the node cannot be reached, or has not served all releases.
    fn owes(&self, now: Moment) -> bool {
        matches!(self.store.trouble, Trouble::Cut)
            || self.owed.iter().any(|(_, until)| *until > now)
    }

    /// Reports the present keys to all watches. The reports are in order, as they are made under the
    /// node's mutex. Wake the returned wakers after the mutex is unlocked.
    fn tell(&mut self, now: Moment) -> Vec<Waker> {
        self.watches.retain(Watch::is_wanted);
        let store = &self.store;
        let told = self.watches.iter();
        told.filter_map(|watch| watch.record(store.key_report(watch.keys(), now)))
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

    /// Makes the node unreachable: it votes no, and keeps its keys until the ttl. Releases are served
    /// once it is [restored](Self::restore), as after a reconnection.
    pub fn cut(&self) {
        self.trouble(Trouble::Cut);
    }

    /// Makes the node hang like a stopped server: it accepts operations and answers none. After
    /// [`restore`](Self::restore), [`cut`](Self::cut) or [`fail`](Self::fail) it answers the accepted
    /// operations in order.
    pub fn hang(&self) {
        self.trouble(Trouble::Hangs);
    }

    /// Makes the node answer every operation with a server's error, such as `OOM command not allowed`.
    /// It keeps its keys until the ttl. Releases are served once it is [restored](Self::restore), as the
    /// owed releases of a Redis node are.
    pub fn fail(&self, error: &str) {
        self.trouble(Trouble::Fails(NodeError::server(error.as_bytes())));
    }

    /// Undoes [`cut`](Self::cut), [`hang`](Self::hang) and [`fail`](Self::fail), and serves the
    /// releases that arrived meanwhile.
    pub fn restore(&self) {
        self.trouble(Trouble::None);
    }

    /// Begins a new epoch, as a node does that may have forgotten locks. It still votes and keeps its
    /// keys.
    pub fn begin_epoch(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Release);
        let listeners = self.shared.listeners.lock().clone();
        for tell in listeners {
            caught("a listener to epochs", &*tell);
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

    /// The remaining time of `key`.
    pub fn remaining(&self, key: &[u8]) -> Option<Duration> {
        let now = self.shared.clock.now();
        self.current()
            .store
            .entries
            .get(key)
            .map(|entry| entry.expires.saturating_since(now))
    }

    /// The readers that have an entry in the sorted set `key`: the token and the remaining time of each.
    /// Needs the feature `testing`.
    #[cfg(any(test, feature = "testing"))]
    pub fn readers(&self, key: &[u8]) -> Vec<(Vec<u8>, Duration)> {
        let now = self.shared.clock.now();
        let state = self.current();
        let readers = state.store.readers.get(key).into_iter().flatten();
        let readers = readers.filter(|(_, ends)| **ends > now);
        readers
            .map(|(token, ends)| (token.to_vec(), ends.saturating_since(now)))
            .collect()
    }

    /// All keys that have not expired, in order.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        let state = self.current();
        let (locks, readers) = (state.store.entries.keys(), state.store.readers.keys());
        let mut keys: Vec<_> = locks.chain(readers).map(|key| key.to_vec()).collect();
        keys.sort();
        keys
    }

    /// Sets `key` to `value` for `ttl`, and replaces its value: stands for another client's lock.
    pub fn put(&self, key: &[u8], value: &[u8], ttl: Duration) {
        self.change(|store, now| {
            store.delete_any(key);
            store.put(key, value, now.saturating_add(ttl));
        });
    }

    /// Deletes `key`, for any holder.
    pub fn delete(&self, key: &[u8]) {
        self.change(|store, _| store.delete_any(key));
    }

    /// The number of watches that are wanted.
    #[cfg(test)]
    pub(crate) fn watches(&self) -> usize {
        let state = self.shared.state.lock();
        let wanted = state.watches.iter().filter(|watch| watch.is_wanted());
        wanted.count()
    }

    /// Serves `operation` and returns the answer. For simulations that deliver requests and answers
    /// themselves. Needs the feature `testing`.
    #[cfg(feature = "testing")]
    pub fn serve(&self, operation: &Operation) -> Answer {
        let wall = self.shared.clock.wall();
        let answer = self.change(|store, now| store.serve(operation, now, wall));
        self.in_epoch(answer)
    }

    /// Copies the node: the state of a server that restarts from its disk.
    /// Needs the feature `testing`.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn fork(&self) -> Self {
        let copy = Self::new(
            Arc::clone(&self.shared.name),
            Arc::clone(&self.shared.clock),
        );
        copy.shared.state.lock().store = self.current().store.clone();
        copy
    }

    /// Moves `key`, of any type, to another node with the same clock. Needs the feature `simulation`.
    #[cfg(feature = "simulation")]
    pub fn move_key(&self, key: &[u8], to: &Self) {
        let moved = self.change(|store, _| store.take_key(key));
        to.change(|store, _| store.put_key(key, moved));
    }

    fn in_epoch(&self, answer: Answer) -> Answer {
        let epoch = self.epoch();
        match answer {
            Answer::Granted {
                counter, permits, ..
            } => Answer::Granted {
                counter,
                epoch,
                permits,
            },
            other => other,
        }
    }

    /// Sets the node's trouble. Unless the node hangs, it answers all operations that it owes an
    /// answer.
    fn trouble(&self, trouble: Trouble) {
        let (now, wall) = (self.shared.clock.now(), self.shared.clock.wall());
        let (answers, woken) = {
            let mut state = self.shared.state.lock();
            state.store.expire(now);
            let is_hanging = matches!(trouble, Trouble::Hangs);
            let is_well = matches!(trouble, Trouble::None);
            state.store.trouble = trouble;
            if is_well {
                for (release, _) in std::mem::take(&mut state.owed) {
                    state.store.serve(&release, now, wall);
                }
            }
            let due = if is_hanging {
                VecDeque::new()
            } else {
                std::mem::take(&mut state.unanswered)
            };
            let answers: Vec<_> = due
                .into_iter()
                .map(|(operation, reply)| (state.serve(&operation, now, wall), reply))
                .collect();
            (answers, state.tell(now))
        };
        woken.into_iter().for_each(wake);
        for (answer, reply) in answers {
            reply.answer(self.in_epoch(answer));
        }
    }

    /// Changes the store, and reports to the watches.
    fn change<T>(&self, change: impl FnOnce(&mut Store, Moment) -> T) -> T {
        let now = self.shared.clock.now();
        let (changed, woken) = {
            let mut state = self.shared.state.lock();
            state.store.expire(now);
            (change(&mut state.store, now), state.tell(now))
        };
        woken.into_iter().for_each(wake);
        changed
    }

    fn current(&self) -> MutexGuard<'_, MemoryState> {
        let now = self.shared.clock.now();
        let mut state = self.shared.state.lock();
        state.store.expire(now);
        state
    }
}

impl Node for MemoryNode {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        let (now, wall) = (self.shared.clock.now(), self.shared.clock.wall());
        let (answer, woken) = {
            let mut state = self.shared.state.lock();
            if matches!(state.store.trouble, Trouble::Hangs) {
                state.unanswered.push_back((operation, reply));
                return;
            }
            let known = state.store.entries.len();
            state.store.expire(now);
            let has_expired = state.store.entries.len() < known;
            let answer = state.serve(&operation, now, wall);
            // As with a server, a question is no change: an observer that asks would be told of itself.
            let woken = if has_expired || !operation.want().is_question() {
                state.tell(now)
            } else {
                Vec::new()
            };
            (answer, woken)
        };
        // The answer may wake the caller, so it is given after the store's mutex is unlocked.
        woken.into_iter().for_each(wake);
        reply.answer(self.in_epoch(answer));
    }

    fn submit_on(&self, _lane: usize, barrier: Arc<Operation>, reply: Reply) {
        let now = self.shared.clock.now();
        let answer = {
            let mut state = self.shared.state.lock();
            match state.store.trouble.reason() {
                Some(_) if matches!(state.store.trouble, Trouble::Hangs) => {
                    state.unanswered.push_back((barrier, reply));
                    return;
                }
                Some(reason) if state.owes(now) => Answer::Failed(reason),
                _ => Answer::Absent,
            }
        };
        reply.answer(answer);
    }

    fn status(&self) -> NodeStatus {
        match self.shared.state.lock().store.trouble.reason() {
            Some(reason) => NodeStatus::Abstaining(reason),
            None => NodeStatus::Voting,
        }
    }

    fn watch(&self, watch: Watch) {
        let now = self.shared.clock.now();
        let woken = {
            let mut state = self.shared.state.lock();
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
        self.shared.listeners.lock().push(listener);
    }
}

impl fmt::Debug for MemoryNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryNode")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}
