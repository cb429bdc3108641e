//! An in-process node, and copies of it with faults that the checks have to find.

use std::sync::Arc;

use redlock_conformance::{Report, Rig, ServerFault, TTL, run};
use redlock_core::node::{Effect, NodeStatus, Submission};
use redlock_core::{MemoryNode, Node};

use crate::IO;

struct InMemory {
    store: MemoryNode,
    flaw: Option<Flaw>,
}

/// What is wrong with a node.
#[derive(Clone, Copy)]
enum Flaw {
    /// It loses the releases that it cannot serve.
    OwesNothing,
    /// It says that it has nothing left to do.
    IsAlwaysDrained,
    /// It has a task serve acquisitions, behind the releases.
    SwapsCalls,
}

struct Flawed(MemoryNode, Flaw);

impl Node for Flawed {
    fn name(&self) -> &'static str {
        "flawed"
    }

    fn submit(&self, submission: Submission) {
        let (effect, is_release) = (submission.call().effect, submission.call().is_release());
        let cannot_serve = matches!(self.status(), NodeStatus::Abstaining(_));
        match self.1 {
            Flaw::OwesNothing if is_release && cannot_serve => drop(submission),
            Flaw::SwapsCalls if effect == Effect::Takes => {
                let node = self.0.clone();
                tokio::spawn(async move { node.submit(submission) });
            }
            _ => self.0.submit(submission),
        }
    }

    fn status(&self) -> NodeStatus {
        self.0.status()
    }

    fn drained(&self) -> bool {
        matches!(self.1, Flaw::IsAlwaysDrained) || self.0.drained()
    }
}

impl InMemory {
    async fn run(flaw: Option<Flaw>) -> Report {
        let store = MemoryNode::new("memory", IO.environment().clock);
        run(&Arc::new(Self { store, flaw })).await
    }
}

impl Rig for InMemory {
    async fn node(&self) -> Arc<dyn Node> {
        let store = self.store.clone();
        match self.flaw {
            Some(flaw) => Arc::new(Flawed(store, flaw)),
            None => Arc::new(store),
        }
    }

    async fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.store.get(key.as_bytes())
    }

    async fn set(&self, key: &str, value: Option<&[u8]>) {
        match value {
            Some(value) => self.store.put(key.as_bytes(), value, TTL),
            None => self.store.delete(key.as_bytes()),
        }
    }

    fn faults(&self) -> &[ServerFault] {
        &[ServerFault::Cut, ServerFault::HoldAnswers]
    }

    async fn inflict(&self, fault: ServerFault) {
        match fault {
            ServerFault::Cut => self.store.cut(),
            _ => self.store.hang(),
        }
    }

    async fn mend(&self) {
        self.store.restore();
    }
}

#[tokio::test]
async fn a_node_in_memory_keeps_the_contract() {
    let report = InMemory::run(None).await;
    report.assert_passed();
    let expected = [
        "a_flush_of_scripts_loses_nothing",
        "a_release_outlives_its_connection",
        "what_lost_its_answer_is_released",
        "an_acquisition_that_comes_late_is_released",
        "a_frozen_server_votes_no",
        "a_server_that_was_killed_votes_again",
        "a_full_node_refuses_acquisitions_alone",
    ];
    assert_eq!(report.left_out(), expected);
}

#[tokio::test]
async fn a_flaw_is_found() {
    for (flaw, check) in [
        (Flaw::OwesNothing, "a_release_waits_for_a_connection"),
        (
            Flaw::IsAlwaysDrained,
            "a_node_is_drained_once_all_is_answered",
        ),
        (Flaw::SwapsCalls, "many_locks_keep_their_order"),
    ] {
        let report = InMemory::run(Some(flaw)).await;
        let failed: Vec<_> = report.failed.iter().map(|(name, _)| *name).collect();
        assert!(failed.contains(&check), "{check} finds nothing; {report:?}");
    }
}
