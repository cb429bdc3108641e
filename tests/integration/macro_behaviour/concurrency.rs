//! Calls beside each other: on other resources together, on one resource one by one.

use std::time::Duration;

use redlock_runtime::{LockError, redlock};
use tokio::sync::Barrier;

use crate::macro_behaviour::fixture::{Log, Nodes, with_nodes};

/// Ends only when both calls are in their bodies.
#[redlock(resource = "order:{id}")]
async fn meets(id: u64, both: &Barrier, nodes: &Nodes) -> Result<Vec<String>, LockError> {
    both.wait().await;
    let mut keys = nodes.locked();
    keys.sort();
    both.wait().await;
    Ok(keys)
}

#[tokio::test]
async fn calls_on_two_resources_are_held_together() {
    with_nodes(|nodes, _| async move {
        let both = Barrier::new(2);
        let calls = async { tokio::join!(meets(1, &both, &nodes), meets(2, &both, &nodes)) };
        let calls = tokio::time::timeout(Duration::from_secs(20), calls);
        let (first, second) = calls.await.expect("both bodies run at once");
        assert_eq!(first.unwrap(), ["order:1", "order:2"]);
        assert_eq!(second.unwrap(), ["order:1", "order:2"]);
        assert!(nodes.locked().is_empty());
    })
    .await;
}

#[redlock(resource = "order:{id}", retry_count = 2000, retry_delay = 5)]
async fn alone(id: u64, log: &Log) -> Result<(), LockError> {
    log.add("in");
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    log.add("out");
    Ok(())
}

#[tokio::test]
async fn calls_on_one_resource_follow_one_another() {
    with_nodes(|_, log| async move {
        let (a, b, c) = tokio::join!(alone(1, &log), alone(1, &log), alone(1, &log));
        a.and(b).and(c).unwrap();
        assert_eq!(log.lines(), ["in", "out", "in", "out", "in", "out"]);
    })
    .await;
}

/// What the losing branch of a selection held goes with it.
#[tokio::test]
async fn the_call_that_a_selection_drops_is_released() {
    with_nodes(|nodes, log| async move {
        let never = Barrier::new(3);
        tokio::select! {
            _ = meets(1, &never, &nodes) => panic!("nobody else comes"),
            done = alone(2, &log) => done.unwrap(),
        }
        nodes.free().await;
        assert_eq!(log.lines(), ["in", "out"]);
    })
    .await;
}
