//! An in-process node, for development, examples and tests.

#[cfg(any(test, feature = "testing"))]
mod control;
mod fault;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::debug::debug_in_part;
use crate::env::{Clock, Moment};
use crate::model::resource::Resource;
use crate::node::watch::{HeldValue, KeyReport, Watch};
use crate::node::{
    Answer, Argument, Call, Effect, EpochListener, Node, NodeStatus, Remaining, Store, Submission,
    Value,
};
use crate::panics::wake;
use fault::NodeFault;

/// A node in this process that answers as a Redis node does. A configuration must name such a node, because the node
/// excludes no other process.
///
/// Clones share one store. With the feature `testing`, tests can cut the node off, let it hang, fail or forget, and
/// change its keys. Without the feature, the node serves every call.
#[derive(Clone)]
pub struct MemoryNode {
    shared: Arc<MemoryShared>,
}

struct MemoryShared {
    name: Arc<str>,
    clock: Arc<dyn Clock>,
    state: Mutex<MemoryState>,
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
}

#[derive(Default)]
struct MemoryState {
    store: Store,
    fault: NodeFault,
    watches: Vec<Watch>,
    /// Calls that arrived while the node hangs, in order.
    unanswered: VecDeque<Submission>,
    /// Releases that wait for a working node, each with the moment until which its keys may live.
    owed: Vec<(Submission, Moment)>,
}

impl MemoryState {
    /// Serves `call`. A release that fails because of the node's fault becomes an owed release.
    fn serve(&mut self, submission: &Submission, now: Moment, epoch: u32) -> Answer {
        let call = submission.call();
        let answer = match (&self.fault, self.fault.reason()) {
            (NodeFault::Fails(text), _) => Answer::of_reply(call, Value::error(text), epoch),
            (_, Some(reason)) => Answer::Failed(reason),
            (_, None) => run(&mut self.store, call, epoch),
        };
        if let (Answer::Failed(_), Effect::Undoes(ttl)) = (&answer, call.effect) {
            self.owed.retain(|(_, until)| *until > now);
            let until = now.saturating_add(ttl);
            self.owed.push((submission.owed(), until));
        }
        answer
    }

    /// Returns the report for a caller that waits for `keys`, and the keys' value.
    fn key_report(&self, keys: &Resource) -> (KeyReport, Option<HeldValue>) {
        if self.fault.reason().is_some() {
            return (KeyReport::Unknown, None);
        }
        let lives = keys.names().filter_map(|key| remaining(&self.store, key));
        let Some(last) = lives.max() else {
            return (KeyReport::Free, None);
        };
        let values = keys.names().map(|key| self.store.get(key));
        let values = values.map(|value| HeldValue::of(value.ok().flatten().unwrap_or_default()));
        let value = HeldValue::all(values);
        (KeyReport::Held(Remaining::Expires(last)), Some(value))
    }

    /// Reports the present keys to all watches. The node's mutex keeps the reports in order. Wake the returned wakers
    /// after the mutex is unlocked.
    fn tell(&mut self) -> Vec<Waker> {
        self.watches.retain(Watch::is_wanted);
        let told = self.watches.iter();
        told.filter_map(|watch| {
            let (report, value) = self.key_report(watch.keys());
            watch.record(report, value)
        })
        .collect()
    }
}

/// Returns the remaining time of `key`, if it exists and expires.
fn remaining(store: &Store, key: &[u8]) -> Option<Duration> {
    let millis = u64::try_from(store.pttl(key)).ok()?;
    Some(Duration::from_millis(millis))
}

/// Runs the twin of the call's script.
fn run(store: &mut Store, call: &Call, epoch: u32) -> Answer {
    let keys: Vec<_> = call.keys().collect();
    let arguments: Vec<_> = call.arguments().iter().map(Argument::as_bytes).collect();
    Answer::of_reply(call, call.script.run(store, &keys, &arguments), epoch)
}

impl MemoryNode {
    /// Returns an empty node whose keys expire by `clock`.
    pub fn new(name: impl Into<Arc<str>>, clock: Arc<dyn Clock>) -> Self {
        let shared = MemoryShared {
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

    /// Returns the value under `key`, unless it has expired.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let state = self.current();
        state.store.get(key).ok().flatten().map(<[u8]>::to_vec)
    }

    /// Returns the remaining time of `key`.
    pub fn remaining(&self, key: &[u8]) -> Option<Duration> {
        remaining(&self.current().store, key)
    }

    /// Returns all keys that have not expired, in order.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        self.current().store.keys().map(<[u8]>::to_vec).collect()
    }

    /// Changes the state, and then reports it to the watches.
    fn change<T>(&self, change: impl FnOnce(&mut MemoryState) -> T) -> T {
        let (changed, woken) = {
            let mut state = self.current();
            (change(&mut state), state.tell())
        };
        woken.into_iter().for_each(wake);
        changed
    }

    /// Returns the state, without the keys that have expired.
    fn current(&self) -> MutexGuard<'_, MemoryState> {
        let (now, wall) = (self.shared.clock.now(), self.shared.clock.wall());
        let mut state = self.shared.state.lock();
        state.store.begin(now, wall);
        state
    }
}

impl Node for MemoryNode {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn submit(&self, submission: Submission) {
        let (now, wall) = (self.shared.clock.now(), self.shared.clock.wall());
        let epoch = self.epoch();
        let (answer, woken) = {
            let mut state = self.shared.state.lock();
            if matches!(state.fault, NodeFault::Hangs) {
                state.unanswered.push_back(submission);
                return;
            }
            let has_expired = state.store.begin(now, wall);
            let answer = state.serve(&submission, now, epoch);
            // Only a change is reported, as by a server. Otherwise an observer that asks would be notified of itself.
            let woken = if has_expired || state.store.has_written() {
                state.tell()
            } else {
                Vec::new()
            };
            (answer, woken)
        };
        // Answer after the store's mutex is unlocked, because an answer may wake the caller.
        woken.into_iter().for_each(wake);
        submission.answer(answer);
    }

    fn drained(&self) -> bool {
        let now = self.shared.clock.now();
        let state = self.shared.state.lock();
        state.unanswered.is_empty() && state.owed.iter().all(|(_, until)| *until <= now)
    }

    fn status(&self) -> NodeStatus {
        let reason = self.shared.state.lock().fault.reason();
        reason.map_or(NodeStatus::Voting, NodeStatus::Abstaining)
    }

    fn watch(&self, watch: Watch) {
        self.change(|state| state.watches.push(watch));
    }

    fn epoch(&self) -> u32 {
        self.shared.epoch.load(Ordering::Acquire)
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        self.shared.listeners.lock().push(listener);
    }
}

debug_in_part!(MemoryNode, it => name: it.shared.name);
