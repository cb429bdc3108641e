//! One master after another.

use redlock_core::Request;
use redlock_core::lease::Released;
use redlock_core::request::RetryLimit;
use redlock_tests::{RedisNode, SentinelGroup, SentinelOptions, wait_until};

use crate::cluster::fixture::{LONG, extend_soon};
use crate::core::fixture::lock_once;
use crate::sentinel::agreement::until_moved;
use crate::sentinel::fixture::{
    SOON, brief, calm, client, impatient, lock_soon, once, single, until_abstaining, until_at,
    until_voting, voting, wary,
};

/// Waits to be told that the lock is free: it does not come back by itself.
fn patient(resource: &str) -> Request {
    once(resource)
        .retry_limit(RetryLimit::Forever)
        .retry_delay(SOON * 10)
}

/// Waits for a release that is owed.
async fn until_gone(server: &RedisNode, key: &str) {
    wait_until("the release", || server.get(key), Option::is_none).await;
}

async fn until_tracked(server: &RedisNode) {
    let is_one = |clients: &Option<String>| clients.as_deref() == Some("1");
    let clients = || server.info("tracking_clients");
    wait_until("somebody to watch the key", clients, is_one).await;
}

#[tokio::test]
async fn passwords_of_the_master_and_of_the_sentinels_are_kept_apart() {
    let options = SentinelOptions::default();
    let options = options.password("master1").sentinel_password("sentinel2");
    let group = SentinelGroup::start_with(options).await;
    let set = voting(group.url(), calm()).await;
    lock_once(&set).await;
    group.fail_over().await;
    lock_soon(&set, "r").await.release().await;

    for (wrong, server) in [("master1", "master 127"), ("sentinel2", "no sentinel")] {
        let url = group.url().replace(wrong, "wr0ng");
        let set = single(url, calm()).await;
        let reason = until_abstaining(&set[0], "WRONGPASS").await;
        assert!(reason.starts_with(server), "{reason}");
        assert!(!reason.contains("wr0ng"), "{reason}");
    }
}

#[tokio::test]
async fn an_orderly_failover_moves_the_node_and_its_leases_live_on() {
    let group = SentinelGroup::start().await;
    let set = voting(group.url(), calm()).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    group.until_replicated("r").await;
    let before = group.fail_over().await;
    let master = group.master().await;
    until_at(&set, master).await;
    lease.extend(LONG).await.unwrap();
    assert!(master.get("r").is_some());
    assert_eq!(lease.release().await, Released::Confirmed);
    assert_eq!(master.get("r"), None);
    group.until_replica(before).await;
    until_voting(&set[0]).await;
}

#[tokio::test]
async fn a_release_the_old_master_never_heard_goes_to_the_new_one() {
    let group = SentinelGroup::start().await;
    let set = voting(group.url(), calm()).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    group.until_replicated("r").await;
    group.servers[0].kill();
    until_abstaining(&set[0], "").await;
    drop(lease);
    group.until_replaced(&group.servers[0]).await;
    until_voting(&set[0]).await;
    let master = group.master().await;
    until_gone(master, "r").await;
}

#[tokio::test]
async fn a_master_that_is_made_a_replica_is_left() {
    let group = SentinelGroup::start().await;
    let set = voting(group.url(), calm()).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    let dropped = client().acquire(&set, &once("dropped")).await.unwrap();
    group.until_replicated("r").await;
    group.until_replicated("dropped").await;
    // By hand: no connection is closed, and the sentinels still name it.
    let server = &group.servers[0];
    let port = group.servers[1].port().to_string();
    server.command(["REPLICAOF", "127.0.0.1", &port]);
    drop(dropped);
    let reason = until_abstaining(&set[0], "and is a replica").await;
    assert!(reason.starts_with("127.0.0.1:"), "{reason}");
    assert!(server.get("dropped").is_some());

    server.command(["REPLICAOF", "NO", "ONE"]);
    until_voting(&set[0]).await;
    until_gone(server, "dropped").await;
    lease.extend(LONG).await.unwrap();
    assert_eq!(lease.release().await, Released::Confirmed);
}

#[tokio::test]
async fn who_waits_is_told_by_the_new_master_if_the_old_one_hangs() {
    let group = SentinelGroup::start().await;
    let (set, other) = (
        voting(group.url(), brief()).await,
        voting(group.url(), brief()).await,
    );
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    group.until_replicated("r").await;
    let waiting = tokio::spawn({
        let other = other.clone();
        async move { client().acquire(&other, &patient("r")).await }
    });
    until_tracked(&group.servers[0]).await;
    group.servers[0].freeze();
    let refused = impatient().acquire(&set, &once("s")).await;
    assert!(refused.is_err());
    group.until_replaced(&group.servers[0]).await;
    let master = group.master().await;
    until_at(&set, master).await;
    until_tracked(master).await;
    assert_eq!(lease.release().await, Released::Confirmed);
    let next = tokio::time::timeout(SOON, waiting).await;
    let next = next.expect("it was not woken").unwrap().unwrap();
    assert_eq!(next.release().await, Released::Confirmed);
}

#[tokio::test]
async fn a_frozen_master_is_left_and_does_no_harm_when_it_thaws() {
    let group = SentinelGroup::start().await;
    let set = voting(group.url(), wary()).await;
    let held = lock_soon(&set, "held").await;
    let before = &group.servers[0];
    before.freeze();
    // The client sends nothing until a caller asks.
    let refused = impatient().acquire(&set, &once("r")).await;
    assert!(refused.is_err());
    until_abstaining(&set[0], "no answer for").await;
    drop(held);

    group.until_replaced(before).await;
    let lease = lock_soon(&set, "r").await;
    let master = group.master().await;
    let value = master.get("r");
    assert!(value.is_some());

    before.thaw();
    group.until_replica(before).await;
    assert_eq!(master.get("r"), value);
    assert_eq!(before.get("r"), value, "it has what the master has");
    until_gone(master, "held").await;
    extend_soon(&lease).await;
    assert_eq!(lease.release().await, Released::Confirmed);
}

/// A master that still serves its clients as a master, while its sentinels name another.
async fn replaced_behind_its_clients_back(group: &SentinelGroup) {
    let before = &group.servers[0];
    let hidden = "-ping -info -publish -replicaof -slaveof -client";
    let words = ["ACL", "SETUSER", "default"].into_iter();
    before.command(words.chain(hidden.split(' ')));
    group.until_replaced(before).await;
}

#[tokio::test]
async fn a_deposed_master_that_answers_again_is_left_by_an_idle_node() {
    let group = SentinelGroup::start().await;
    for sentinel in &group.sentinels {
        // All that a client needs there, as the guide has it.
        let rules = "on >pw resetchannels -@all +sentinel|get-master-addr-by-name +sentinel|master";
        let words = ["ACL", "SETUSER", "watch"].into_iter();
        sentinel.command(words.chain(rules.split_whitespace()));
    }
    let url = format!("{}?sentinel_login=watch:pw", group.url());
    let set = voting(url, wary()).await;
    let before = &group.servers[0];
    before.freeze();
    let refused = impatient().acquire(&set, &once("r")).await;
    assert!(refused.is_err());
    until_abstaining(&set[0], "no answer for").await;
    before.thaw();
    until_voting(&set[0]).await;

    replaced_behind_its_clients_back(&group).await;
    until_moved(&set).await;
    let lease = lock_soon(&set, "r").await;
    assert!(group.master().await.get("r").is_some());
    lease.release().await;
}
