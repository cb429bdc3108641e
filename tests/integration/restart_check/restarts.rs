//! Servers that come back with less than they had.

use std::time::Instant;

use redlock_core::Node;
use redlock_core::node::NodeErrorKind::Refused;
use redlock_core::redis::RedisOptions;
use redlock_core::restart_check::RestartCheck;
use redlock_tests::{NodeOptions, Nodes, RedisNode, wait_until};

use crate::restart_check::fixture::{
    MARKER, MAX_TTL, Set, client, marker, once, until_marked_anew,
};

/// Asserts that the node `forgetful`, which may have forgotten locks at `since` or later, does not
/// vote before the longest ttl has passed, on a machine of any speed, and that the other nodes vote.
fn assert_waiting(set: &Set, forgetful: usize, since: Instant) {
    let mut votes = set.votes();
    let is_over = since.elapsed() >= MAX_TTL;
    let votes_too = std::mem::replace(&mut votes[forgetful], true);
    assert!(!votes_too || is_over, "it votes too early");
    assert_eq!(votes, [true; 3], "the others");
}

#[tokio::test]
async fn a_node_that_restarted_empty_votes_after_the_longest_ttl() {
    let nodes = Nodes::start(3).await;
    let set = Set::standard(nodes.urls()).await.voting().await;
    let mut epochs = set.epochs(1);
    let killed = Instant::now();
    nodes[1].kill();
    nodes[1].restart().await;
    let reason = epochs.next().await;
    assert!(reason.contains("may have forgotten locks"), "{reason}");
    assert_waiting(&set, 1, killed);

    let lease = client().acquire(&set.node_set(), &once("r")).await.unwrap();
    let has_granted = nodes[1].get("r").is_some();
    assert!(!has_granted || killed.elapsed() >= MAX_TTL);
    lease.release().await;

    set.until_voting(1).await;
    assert!(killed.elapsed() >= MAX_TTL);
    assert_eq!(set.nodes[1].epoch(), 1);
    assert_eq!(set.nodes[0].epoch(), 0);
}

fn persistent() -> NodeOptions {
    NodeOptions::default().append_only()
}

fn trusting(options: RedisOptions) -> RedisOptions {
    options.trust_aof(true)
}

#[tokio::test]
async fn a_node_that_restarted_from_its_file_waits_unless_trusted() {
    let node = RedisNode::start_with(persistent()).await;
    let set = Set::standard([node.url()]).await.voting().await;
    let mut epochs = set.epochs(0);
    let before = marker(&node);
    node.restart().await;
    epochs.next().await;
    let after = until_marked_anew(&node, Some(&before)).await;
    assert!(after.since > before.since);

    let node = RedisNode::start_with(persistent()).await;
    let set = Set::with([node.url()], RestartCheck::Standard, trusting);
    let set = set.await.voting().await;
    let before = marker(&node);
    node.restart().await;
    let after = until_marked_anew(&node, Some(&before)).await;
    assert_eq!(after.since, before.since);
    set.until_voting(0).await;
    assert_eq!(set.nodes[0].epoch(), 0, "nothing is forgotten");
}

#[tokio::test]
async fn a_promoted_replica_waits() {
    let primary = RedisNode::start().await;
    drop(Set::standard([primary.url()]).await.voting().await);
    let replica = RedisNode::start_with(NodeOptions::default().replica_of(&primary)).await;
    wait_until("the marker", || replica.get(MARKER), Option::is_some).await;
    // Until it is promoted, it is none that a lock may rely on.
    let set = Set::standard([replica.url()]).await;
    let reason = set.until(0, Refused).await;
    let hint = format!("`a` is a replica of 127.0.0.1:{}", primary.port());
    assert!(
        reason.contains(&hint) && reason.contains("point the pool"),
        "{reason}"
    );

    let promoted = Instant::now();
    replica.command(["REPLICAOF", "NO", "ONE"]);
    let marker = until_marked_anew(&replica, None).await;
    assert_ne!(Some(marker.run_id), primary.info("run_id"));
    set.until_voting(0).await;
    assert!(promoted.elapsed() >= MAX_TTL, "it may lack locks");
}
