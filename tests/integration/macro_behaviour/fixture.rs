//! In-process nodes, and a log of what happened in which order.

use std::future::Future;
use std::sync::{Arc, Mutex};

use redlock_runtime::registry::Registry;
use redlock_runtime::testing::TestLocks;

/// What happened, in order; `Seen` values add a line when they are dropped.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Says at its drop whether the lock was still there.
pub(crate) struct Seen {
    name: &'static str,
    log: Log,
    nodes: Nodes,
}

impl Drop for Seen {
    fn drop(&mut self) {
        let state = if self.nodes.locked().is_empty() {
            "unlocked"
        } else {
            "locked"
        };
        self.log.add(format!("{} dropped {state}", self.name));
    }
}

/// Three nodes of a registry of the test's own.
#[derive(Clone)]
pub(crate) struct Nodes(Registry);

impl Nodes {
    /// The keys on the first node.
    pub(crate) fn locked(&self) -> Vec<String> {
        let keys = self.0.memory_node("a").expect("pool a").keys();
        keys.into_iter()
            .map(|key| String::from_utf8(key).unwrap())
            .collect()
    }

    pub(crate) fn seen(&self, name: &'static str, log: &Log) -> Seen {
        Seen {
            name,
            log: log.clone(),
            nodes: self.clone(),
        }
    }

    /// Waits until no node has a key: a release that was sent from a drop arrives soon.
    pub(crate) async fn free(&self) {
        let keys = || ["a", "b", "c"].map(|pool| self.0.memory_node(pool).expect("pool").keys());
        let are_gone = |keys: &[Vec<_>; 3]| keys.iter().all(Vec::is_empty);
        redlock_tests::wait_until("the keys to go away", keys, are_gone).await;
    }
}

pub(crate) async fn with_nodes<F: Future>(test: impl FnOnce(Nodes, Log) -> F) -> F::Output {
    let locks = TestLocks::new();
    test(Nodes(locks.registry().clone()), Log::default()).await
}
