//! Servers whose wall clocks jump.

use std::time::Duration;

use redlock_core::Node;
use redlock_core::error::LeaseEnd;
use redlock_tests::{NodeOptions, Nodes, wait_until};

use crate::restart_check::fixture::{Set, client, once};

async fn movable(n: usize) -> Nodes {
    Nodes::start_with(n, NodeOptions::default().movable_clock()).await
}

const JUMP: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_lease_that_needs_a_node_whose_clock_stepped_is_lost() {
    let nodes = movable(3).await;
    let set = Set::attentive(nodes.urls()).await.voting().await;
    let request = once("r").ttl(Duration::from_secs(600));
    let lease = client().acquire(&set.node_set(), &request).await.unwrap();
    crate::runtime::fixture::until_held_everywhere(&nodes, "r").await;
    for node in &set.nodes {
        let handle = lease.handle();
        node.on_new_epoch(std::sync::Arc::new(move || handle.recheck()));
    }
    let mut epochs = set.epochs(0);
    nodes[0].advance_clock(JUMP);
    epochs.next().await;
    assert!(lease.over().is_none(), "two others vouch for it");
    nodes[1].advance_clock(JUMP);
    assert_eq!(lease.lost().await, LeaseEnd::Forgotten);
    assert_eq!((set.nodes[0].epoch(), set.nodes[1].epoch()), (1, 1));
}

#[tokio::test]
async fn how_far_a_nodes_clock_is_off_is_known_and_follows_it() {
    let nodes = movable(2).await;
    nodes[1].advance_clock(JUMP);
    let set = Set::attentive(nodes.urls()).await;
    // The thread may be stopped between two looks at clocks; the next check has it right.
    let until_off_by = |index: usize, expected_us: i64| {
        let node = &set.nodes[index];
        let clock = || node.health().clock.expect("it was checked");
        wait_until("a check", clock, move |clock| {
            // As exact as the round trip, and a server counts in whole µs.
            let within = clock.within + Duration::from_millis(1);
            let off = (clock.ahead_us - expected_us).unsigned_abs();
            Duration::from_micros(off) <= within
        })
    };
    let jump = i64::try_from(JUMP.as_micros()).unwrap();
    until_off_by(0, 0).await;
    until_off_by(1, jump).await;
    nodes[0].set_back_clock(JUMP);
    until_off_by(0, -jump).await;
}
