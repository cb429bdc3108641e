//! Servers whose wall clocks jump.

use std::time::{Duration, Instant};

use redlock_core::NodeErrorKind::Quarantined;
use redlock_core::{Node, Over};
use redlock_tests::{NodeOptions, Nodes};

use crate::fixture::{MAX_TTL, Set, client, once};

async fn movable(n: usize) -> Nodes {
    Nodes::start_with(n, NodeOptions::default().movable_clock()).await
}

const JUMP: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_clock_that_jumps_ahead_does_not_end_a_quarantine() {
    let nodes = movable(3).await;
    let set = Set::attentive(nodes.urls()).await;
    nodes[0].restart().await;
    set.until(0, Quarantined).await;
    let jumped = Instant::now();
    nodes[0].advance_clock(JUMP);
    set.until_voting(0).await;
    assert!(jumped.elapsed() >= MAX_TTL);
}

#[tokio::test]
async fn a_lease_that_needs_a_node_whose_clock_stepped_is_lost_and_no_other() {
    let nodes = movable(3).await;
    let set = Set::attentive(nodes.urls()).await;
    let mut request = once("r");
    request.ttl = Duration::from_secs(600);
    let lease = client().acquire(&set.node_set(), &request).await.unwrap();
    crate::leases::until_granted_by_all(&nodes, "r").await;
    for node in &set.nodes {
        let handle = lease.handle();
        node.on_new_epoch(std::sync::Arc::new(move || handle.recheck()));
    }
    nodes[0].set_back_clock(JUMP);
    let reason = set.until(0, Quarantined).await;
    assert!(
        !reason.is_empty() && lease.over().is_none(),
        "two others vouch for it"
    );
    nodes[1].advance_clock(JUMP);
    assert_eq!(lease.lost().await, Over::Forgotten);
    assert_eq!((set.nodes[0].epoch(), set.nodes[1].epoch()), (1, 1));
}

#[tokio::test]
async fn a_clock_that_was_always_off_is_none_that_stepped() {
    let nodes = movable(1).await;
    nodes[0].advance_clock(JUMP);
    let set = Set::attentive(nodes.urls()).await;
    assert_eq!(set.votes(), [true]);
    assert_eq!(set.nodes[0].epoch(), 0);
}
