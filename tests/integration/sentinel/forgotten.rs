//! What a failover forgets, and who gets in by it.

use std::time::Duration;

use redlock_tests::{Nodes, SentinelGroup};

use crate::sentinel::fixture::{
    SOON, calm, checked, client, lock_soon, once, until_at, until_quarantined, voting,
};

/// The lock `r` is granted by the master and not replicated; then the master is killed.
async fn lose_the_newest_lock(group: &SentinelGroup, lock: impl Future<Output = ()>) {
    let before = &group.servers[0];
    before.command(["ACL", "SETUSER", "default", "-psync", "-sync"]);
    before.command(["CLIENT", "KILL", "TYPE", "replica"]);
    lock.await;
    assert!(before.get("r").is_some());
    before.kill();
    group.until_replaced(before).await;
    assert_eq!(group.master().await.get("r"), None);
}

#[tokio::test]
async fn a_single_pool_lets_a_second_holder_in_behind_a_failover() {
    let group = SentinelGroup::start().await;
    let (one, other) = (
        voting(group.url(), calm()).await,
        voting(group.url(), calm()).await,
    );
    let mut first = None;
    lose_the_newest_lock(&group, async {
        first = Some(client().acquire(&one, &once("r")).await.unwrap());
    })
    .await;
    let first = first.expect("granted");
    for set in [&one, &other] {
        until_at(set, group.master().await).await;
    }
    let second = client().acquire(&other, &once("r")).await;
    let second = second.expect("this is what such a node does not promise");
    let ttl = Duration::from_secs(600);
    assert!(first.extend(ttl).await.is_err());
    second.extend(ttl).await.unwrap();
    drop(first);
    second.release().await;
}

#[tokio::test]
async fn one_pool_of_three_lets_no_second_holder_in_behind_a_failover() {
    let group = SentinelGroup::start().await;
    let plain = Nodes::start(2).await;
    let urls = || [group.url()].into_iter().chain(plain.urls());
    let one = checked(urls(), calm()).await;
    let other = checked(urls(), calm()).await;
    let mut first = None;
    lose_the_newest_lock(&group, async {
        let lease = client().acquire(&one, &once("r")).await.unwrap();
        assert!(client().flush(&one, SOON).await.is_empty());
        // The first holder's majority is the master that dies and the node before this one.
        plain[1].del("r");
        first = Some(lease);
    })
    .await;
    until_quarantined(&other[0]).await;
    let second = client().acquire(&other, &once("r")).await;
    assert!(second.is_err(), "the promoted replica voted");
    assert_eq!(plain[1].get("r"), None, "what it was granted is undone");
    assert_eq!(group.master().await.get("r"), None);
    drop(first);
    // The other nodes are a majority for the next caller.
    lock_soon(&other, "r").await.release().await;
}
