//! Servers that come back with less than they had.

use std::time::Instant;

use redlock_core::Node;
use redlock_core::node::NodeErrorKind::Refused;
use redlock_core::redis::RedisOptions;
use redlock_core::request::Kind;
use redlock_core::restart_check::RestartCheck;
use redlock_tests::{NodeOptions, Nodes, RedisNode, eventually};

use crate::restart_check::fixture::{
    MARKER, MAX_TTL, SOON, Set, client, marker, once, until_marked_anew,
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
async fn a_node_that_restarted_empty_says_so_and_votes_when_the_longest_ttl_has_passed() {
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

#[tokio::test]
async fn a_node_that_restarted_empty_gives_no_permit_and_lets_nobody_in_beside_readers() {
    let permit = once("p").kind(Kind::Permits(2));
    let with = |kind| once("r").kind(kind);
    let nodes = Nodes::start(3).await;
    let set = Set::standard(nodes.urls()).await.voting().await;
    let nodes_of_set = set.node_set();
    let _permits = [
        client().acquire(&nodes_of_set, &permit).await.unwrap(),
        client().acquire(&nodes_of_set, &permit).await.unwrap(),
    ];
    let _reader = client()
        .acquire(&set.node_set(), &with(Kind::Read))
        .await
        .unwrap();
    let keys = ["p", "redlock:permit:1:{p}", "r", "redlock:readers:{r}"];
    eventually("the keys on all nodes", SOON, async || {
        let all = nodes.iter().map(RedisNode::keys).map(|there| {
            let is_there = |key: &&str| there.iter().any(|it| it == key.as_bytes());
            keys.iter().filter(|key| is_there(key)).count()
        });
        let all: Vec<_> = all.collect();
        (all == [keys.len(); 3])
            .then_some(())
            .ok_or(format!("{all:?}"))
    })
    .await;
    let mut epochs = set.epochs(1);
    // With the node that restarts, a majority knows nothing of the holders.
    for key in keys {
        assert!(nodes[2].del(key), "{key}");
    }
    let killed = Instant::now();
    nodes[1].kill();
    nodes[1].restart().await;
    epochs.next().await;
    for request in [permit, with(Kind::Write), with(Kind::Exclusive)] {
        let got = client().acquire(&set.node_set(), &request).await;
        let is_over = killed.elapsed() >= MAX_TTL;
        assert!(got.is_err() || is_over, "{request:?}");
    }
}

fn persistent() -> NodeOptions {
    NodeOptions::default().append_only()
}

fn trusting(options: &mut RedisOptions) {
    options.trust_aof = true;
}

#[tokio::test]
async fn a_node_that_restarted_from_its_append_only_file_waits_unless_that_is_trusted() {
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
    eventually("the replica to have the marker", SOON, || async {
        replica.get(MARKER).ok_or_else(|| "not yet".to_owned())
    })
    .await;
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
