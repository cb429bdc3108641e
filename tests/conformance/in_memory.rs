//! A node in this process.

use std::sync::Arc;

use redlock_conformance::{Fault, Rig, TTL, run};
use redlock_core::{MemoryNode, Node};

use crate::IO;

struct InMemory(MemoryNode);

impl Rig for InMemory {
    async fn node(&self) -> Arc<dyn Node> {
        Arc::new(self.0.clone())
    }

    async fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.0.get(key.as_bytes())
    }

    async fn set(&self, key: &str, value: Option<&[u8]>) {
        match value {
            Some(value) => self.0.put(key.as_bytes(), value, TTL),
            None => self.0.delete(key.as_bytes()),
        }
    }

    fn faults(&self) -> &[Fault] {
        &[Fault::Cut, Fault::HoldAnswers]
    }

    async fn inflict(&self, fault: Fault) {
        match fault {
            Fault::Cut => self.0.cut(),
            _ => self.0.hang(),
        }
    }

    async fn mend(&self) {
        self.0.restore();
    }
}

#[tokio::test]
async fn a_node_in_memory_keeps_the_contract() {
    let rig = InMemory(MemoryNode::new("memory", IO.environment().clock));
    let report = run(&Arc::new(rig)).await;
    report.assert_passed();
    let without: Vec<_> = report
        .not_applicable
        .iter()
        .map(|(name, _)| *name)
        .collect();
    let expected = [
        "flushed_scripts_lose_nothing",
        "a_release_outlives_its_connection",
        "what_lost_its_answer_is_released",
        "an_acquisition_that_comes_late_is_released",
        "a_frozen_server_votes_no",
        "a_server_that_was_killed_votes_again",
        "a_full_node_refuses_acquisitions_alone",
    ];
    assert_eq!(without, expected);
}
