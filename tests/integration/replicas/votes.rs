//! Grants of a node whose replicas acknowledge, and refusals of one whose replicas fail.

use std::time::Duration;

use futures_util::future::join_all;
use redlock_core::lease::Released;
use redlock_core::redis::RedisAddress;
use redlock_tests::{RedisCluster, RedisNode, eventually, wait_until};

use super::{Pair, acknowledged_by};
use crate::core::fixture::{
    SOON, client, connect_to, connect_with, lock_once, once, patient, reason, until_abstaining,
    until_voting,
};

/// No lock of this ttl ends during a test.
const LONG: Duration = Duration::from_secs(300);

#[tokio::test]
async fn a_frozen_replica_ends_the_votes_of_its_master_until_it_thaws() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    lock_once(&set).await;
    pair.replica.freeze();
    client().acquire(&set, &once("r")).await.unwrap_err();
    let reason = until_abstaining(&set[0], "0 of 1 replicas acknowledged").await;
    // The next connection finds the same, although the replica still counts as connected.
    let next = until_abstaining(&set[0], "the server has 1 connected").await;
    assert!(next.starts_with("0 of 1 replicas"), "{reason}; {next}");
    pair.replica.thaw();
    until_voting(&set[0], true).await;
    wait_until("the release", || pair.master.get("r"), Option::is_none).await;
    lock_once(&set).await;
}

#[tokio::test]
async fn an_idle_node_notices_that_its_replica_is_frozen() {
    let pair = Pair::start().await;
    let options = acknowledged_by(1).heartbeat(Duration::from_millis(50));
    let set = connect_with([pair.master.url()], &options).await;
    until_voting(&set[0], true).await;
    pair.replica.freeze();
    until_abstaining(&set[0], "0 of 1 replicas acknowledged").await;
    pair.replica.thaw();
    until_voting(&set[0], true).await;
}

#[tokio::test]
async fn an_extension_that_no_replica_has_leaves_the_deadline() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    let lease = client().acquire(&set, &once("r").ttl(LONG)).await.unwrap();
    assert!(pair.replica.get("r").is_some(), "it had to acknowledge");
    pair.replica.freeze();
    lease.extend(LONG * 2).await.unwrap_err();
    assert!(lease.validity() <= LONG, "{:?}", lease.validity());
    pair.replica.thaw();
    until_voting(&set[0], true).await;
    lease.extend(LONG * 2).await.unwrap();
    assert!(lease.validity() > LONG, "{:?}", lease.validity());
}

#[tokio::test]
async fn an_extension_that_writes_nothing_needs_its_replica_too() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    let lease = client().acquire(&set, &once("r").ttl(LONG)).await.unwrap();
    pair.replica.freeze();
    // The key has more time than this extension asks for.
    lease.extend(LONG / 2).await.unwrap_err();
    pair.replica.thaw();
    until_voting(&set[0], true).await;
}

#[tokio::test]
async fn each_master_of_a_cluster_waits_for_its_own_replica() {
    let cluster = RedisCluster::start(1).await;
    let address = RedisAddress::parse(&cluster.url()).expect("a URL");
    let set = connect_to([(address, acknowledged_by(1))]).await;
    until_voting(&set[0], true).await;
    let names = [0, 1, 2].map(|master| cluster.name_at(master, "r"));
    for name in &names {
        let lease = client().acquire(&set, &once(&**name)).await.unwrap();
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    let replica = &cluster.servers()[3];
    replica.freeze();
    let error = client().acquire(&set, &once(&*names[0])).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("0 of 1 replicas"), "{error}");
    let lease = client().acquire(&set, &once(&*names[1])).await.unwrap();
    lease.release().await;
    replica.thaw();
    eventually("the master to vote again", SOON, async || {
        let lease = client().acquire(&set, &once(&*names[0])).await;
        lease.map(drop).map_err(|error| error.to_string())
    })
    .await;
}

#[tokio::test]
async fn a_server_without_replicas_abstains_and_names_their_number() {
    let node = RedisNode::start().await;
    let set = connect_with([node.url()], &acknowledged_by(2)).await;
    let reason = reason(&set[0]).expect("it has no replicas").to_string();
    assert!(reason.starts_with("0 of 2 replicas"), "{reason}");
    assert!(reason.ends_with("the server has 0 connected"), "{reason}");
}

#[tokio::test]
async fn a_user_who_may_not_wait_is_told_the_rule_to_add() {
    let node = RedisNode::start().await;
    node.command(["ACL", "SETUSER", "me", "on", ">pw", "~*", "+@all", "-wait"]);
    let url = format!("redis://me:pw@{}", node.addr());
    let set = connect_with([url], &acknowledged_by(1)).await;
    let reason = reason(&set[0]).expect("it may not wait").to_string();
    assert!(
        reason.ends_with("run there: ACL SETUSER me +wait"),
        "{reason}"
    );
}

#[tokio::test]
async fn callers_that_come_during_a_wait_share_the_next_one() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    pair.proxy.delay(Duration::from_millis(20));
    let before = pair.master.calls("wait");
    let client = client();
    let leases = join_all((0..40).map(async |number| {
        // Later callers come while earlier ones wait.
        for _ in 0..number {
            tokio::task::yield_now().await;
        }
        client.acquire(&set, &once(format!("r{number}"))).await
    }));
    assert!(leases.await.iter().all(Result::is_ok));
    let waits = pair.master.calls("wait") - before;
    assert!(waits <= 10, "{waits} waits for 40 locks");
}

#[tokio::test]
async fn a_node_that_needs_no_replica_never_waits_for_one() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &patient()).await;
    pair.replica.freeze();
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    lease.extend(LONG).await.unwrap();
    lease.release().await;
    assert_eq!(pair.master.calls("wait"), 0);
}
