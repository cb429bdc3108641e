//! Methods for tests: they break an in-process node, and change its keys.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::fault::NodeFault;
use super::{MemoryNode, run};
use crate::node::{Answer, Call, Node};

impl MemoryNode {
    /// Makes the node unreachable. The node votes no, and keeps its keys until their ttl. Releases are served once the
    /// node is [restored](Self::restore), as after a reconnection to Redis.
    pub fn cut(&self) {
        self.set_fault(NodeFault::Cut);
    }

    /// Makes the node hang like a stopped server: it accepts calls and answers none. After [`restore`](Self::restore),
    /// [`cut`](Self::cut) or [`fail`](Self::fail) the node answers the accepted calls in order.
    pub fn hang(&self) {
        self.set_fault(NodeFault::Hangs);
    }

    /// Makes the node answer every call with an error such as `OOM command not allowed`. The node keeps its keys until
    /// their ttl. Releases are served once the node is [restored](Self::restore), as a Redis node serves its owed
    /// releases.
    pub fn fail(&self, error: &str) {
        self.set_fault(NodeFault::Fails(error.into()));
    }

    /// Undoes [`cut`](Self::cut), [`hang`](Self::hang) and [`fail`](Self::fail), and serves the releases that waited.
    pub fn restore(&self) {
        self.set_fault(NodeFault::None);
    }

    /// Begins a new epoch, as a node that may have forgotten locks does. The node still votes and keeps its keys.
    pub fn begin_epoch(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Release);
        let listeners = self.shared.listeners.lock().clone();
        for tell in listeners {
            tell();
        }
    }

    /// Returns the members of the sorted set `key` with future scores, and the time until each.
    pub fn entries(&self, key: &[u8]) -> Vec<(Vec<u8>, Duration)> {
        let state = self.current();
        let now = state.store.millis();
        let entries = state.store.entries(key).into_iter().flatten();
        let left = |ends: i64| Duration::from_millis((ends - now).unsigned_abs());
        let entries = entries.filter(|(_, ends)| **ends > now);
        entries
            .map(|(member, ends)| (member.to_vec(), left(*ends)))
            .collect()
    }

    /// Sets `key` to `value` for `ttl`, in place of any other value. Tests use such a key as another client's lock.
    pub fn put(&self, key: &[u8], value: &[u8], ttl: Duration) {
        let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        self.change(|state| {
            state.store.set_lasting(key, value);
            state.store.pexpire(key, ttl);
        });
    }

    /// Deletes `key`, for any holder.
    pub fn delete(&self, key: &[u8]) {
        self.change(|state| state.store.del(key));
    }

    /// Serves `call` and returns the answer. Simulations use this, because they deliver calls and answers themselves.
    pub fn serve(&self, call: &Call) -> Answer {
        let epoch = self.epoch();
        if let Some(reason) = self.shared.state.lock().fault.reason() {
            return Answer::Failed(reason);
        }
        self.change(|state| run(&mut state.store, call, epoch))
    }

    /// Copies the node. The copy has the state of a server that restarts from its disk.
    #[must_use]
    pub fn fork(&self) -> Self {
        let copy = Self::new(
            Arc::clone(&self.shared.name),
            Arc::clone(&self.shared.clock),
        );
        copy.shared.state.lock().store = self.current().store.clone();
        copy
    }

    /// Sets the node's fault. A node that does not hang then answers all calls that are still unanswered.
    fn set_fault(&self, fault: NodeFault) {
        let (now, epoch) = (self.shared.clock.now(), self.epoch());
        let answers: Vec<_> = self.change(|state| {
            state.fault = fault;
            if matches!(state.fault, NodeFault::None) {
                for (release, _) in std::mem::take(&mut state.owed) {
                    run(&mut state.store, release.call(), epoch);
                }
            }
            let due = if matches!(state.fault, NodeFault::Hangs) {
                VecDeque::new()
            } else {
                std::mem::take(&mut state.unanswered)
            };
            let serve = |submission| (state.serve(&submission, now, epoch), submission);
            due.into_iter().map(serve).collect()
        });
        for (answer, submission) in answers {
            submission.answer(answer);
        }
    }
}
