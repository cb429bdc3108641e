//! Grants of a node whose replicas acknowledge, and refusals of one whose replicas fail.

use std::time::Duration;

use futures_util::future::join_all;
use redlock_core::lease::Released;
use redlock_core::redis::RedisAddress;
use redlock_core::{Lease, NodeSet};
use redlock_tests::{RedisCluster, RedisNode, drop_after, eventually, wait_until};

use super::{LONG, Pair, acknowledged_by, acquire, hastily_acknowledged};
use crate::core::contention::each_kind;
use crate::core::fixture::{
    SOON, client, connect_to, connect_with, once, patient, reason, settle, stand_in_line,
    until_abstaining, until_voting,
};

/// Returns everything that a server has of locks: each key, its value, and the moment of its end.
fn contents(node: &RedisNode) -> Vec<String> {
    let of_wait = b"redlock:replicas:";
    let keys = node.keys().into_iter();
    keys.filter(|key| !key.starts_with(of_wait))
        .map(|key| {
            let words = |command: &str| node.command([command.as_bytes(), &key]);
            let (value, end) = (words("DUMP"), words("PEXPIRETIME"));
            format!("{}: {value:?} until {end:?}", String::from_utf8_lossy(&key))
        })
        .collect()
}

/// Extends the lease. Tries again while the node abstains.
async fn extend(lease: &Lease, ttl: Duration) {
    eventually("an extension", SOON, async || {
        let extended = lease.extend(ttl).await;
        extended.map_err(|error| error.to_string())
    })
    .await;
}

#[tokio::test]
async fn each_grant_is_on_the_replica_once_the_caller_has_it() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    until_voting(&set[0], true).await;
    pair.proxy.delay(Duration::from_millis(5));
    let is_on_both = |when: &str| {
        let replicated = contents(&pair.replica);
        assert!(!replicated.is_empty());
        assert_eq!(replicated, contents(&pair.master), "{when}");
    };
    for request in each_kind() {
        let request = request.ttl(LONG);
        let lease = client().acquire(&set, &request).await.unwrap();
        is_on_both(&format!("{request:?}"));
        lease.extend(LONG * 2).await.unwrap();
        is_on_both(&format!("an extension of {request:?}"));
        lease.release().await;
        pair.master.flushall();
    }
    let job = once("job").ttl(LONG).once_per(LONG);
    let mut lease = acquire(&set, &job).await;
    lease.remember_run();
    lease.release().await;
    is_on_both("the record of a run");
    // Joined calls, of which the fenced ones take blocks of numbers.
    for fenced in [false, true] {
        let client = client();
        let names = (0..20).map(|number| format!("together:{number}"));
        let requests: Vec<_> = names.map(|it| once(it).fencing(fenced)).collect();
        let acquiring = requests.iter().map(|it| client.acquire(&set, it));
        let leases: Result<Vec<_>, _> = join_all(acquiring).await.into_iter().collect();
        is_on_both("locks together");
        drop(leases.unwrap());
        settle(&set).await;
    }
}

#[tokio::test]
async fn a_frozen_replica_ends_the_votes_of_its_master_until_it_thaws() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &hastily_acknowledged()).await;
    until_voting(&set[0], true).await;
    pair.replica.freeze();
    client().acquire(&set, &once("r")).await.unwrap_err();
    until_abstaining(&set[0], "0 of 1 replicas acknowledged").await;
    // The next connection finds the same, although the replica still counts as connected.
    let next = until_abstaining(&set[0], "the server has 1 connected").await;
    assert!(next.ends_with("the server has 1 connected"), "{next}");
    pair.replica.thaw();
    until_voting(&set[0], true).await;
    wait_until("the release", || pair.master.get("r"), Option::is_none).await;
    let lease = acquire(&set, &once("r").ttl(LONG)).await;
    lease.release().await;
}

#[tokio::test]
async fn an_idle_node_notices_that_its_replica_is_frozen() {
    let pair = Pair::start().await;
    let options = hastily_acknowledged().heartbeat(Duration::from_millis(50));
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
    let set = connect_with([pair.master.url()], &hastily_acknowledged()).await;
    for fenced in [false, true] {
        let request = once("r").ttl(LONG).fencing(fenced);
        let lease = acquire(&set, &request).await;
        pair.replica.freeze();
        lease.extend(LONG * 2).await.unwrap_err();
        assert!(lease.validity() <= LONG, "{:?}", lease.validity());
        pair.replica.thaw();
        extend(&lease, LONG * 2).await;
        assert!(lease.validity() > LONG, "{:?}", lease.validity());
        lease.release().await;
    }
}

#[tokio::test]
async fn an_extension_that_writes_nothing_needs_its_replica_too() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &hastily_acknowledged()).await;
    let lease = acquire(&set, &once("r").ttl(LONG)).await;
    pair.replica.freeze();
    // The key has more time than this extension asks for.
    lease.extend(LONG / 2).await.unwrap_err();
    pair.replica.thaw();
    extend(&lease, LONG / 2).await;
}

#[tokio::test]
async fn a_run_that_no_replica_has_may_be_repeated_after_failover() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &hastily_acknowledged()).await;
    let job = once("job").ttl(LONG).once_per(LONG);
    let mut lease = acquire(&set, &job).await;
    pair.proxy.hold_to_client();
    lease.remember_run();
    let released = lease.release().await;
    assert_eq!(released, Released::Unconfirmed, "it follows the record");
    pair.fail_over();
    let successor = connect_with([pair.replica.url()], &patient()).await;
    // The replica has the lock still, and no record.
    let job = once("job").once_per(LONG);
    let refused = client().acquire(&successor, &job).await.unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("held by"), "{refused}");
}

/// Submits an acquisition that waits for a replica, and returns once its master has the key.
async fn acquire_without_replica(
    pair: &Pair,
    set: &NodeSet,
    name: &str,
) -> crate::core::fixture::Acquiring {
    pair.proxy.hold_to_client();
    let acquiring = stand_in_line(&client(), set, &once(name));
    wait_until("the key", || pair.master.get(name), Option::is_some).await;
    acquiring
}

#[tokio::test]
async fn a_master_that_is_replaced_during_a_wait_grants_nothing() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    until_voting(&set[0], true).await;
    let acquiring = acquire_without_replica(&pair, &set, "r").await;
    // The server answers the wait with an error.
    pair.master.command(["REPLICAOF", "127.0.0.1", "1"]);
    let error = acquiring.await.unwrap_err().to_string();
    assert!(error.contains("UNBLOCKED"), "{error}");
}

#[tokio::test]
async fn a_connection_that_ends_during_a_wait_grants_nothing() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    until_voting(&set[0], true).await;
    let acquiring = acquire_without_replica(&pair, &set, "r").await;
    pair.master.command(["CLIENT", "KILL", "TYPE", "normal"]);
    acquiring.await.unwrap_err();
    pair.proxy.restore().await;
    until_voting(&set[0], true).await;
    wait_until("the release", || pair.master.get("r"), Option::is_none).await;
}

#[tokio::test]
async fn a_caller_that_leaves_during_a_wait_is_released_after_it() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    until_voting(&set[0], true).await;
    let acquiring = acquire_without_replica(&pair, &set, "r").await;
    assert!(drop_after(1, acquiring).await.is_none(), "it has to wait");
    pair.proxy.restore().await;
    settle(&set).await;
    assert_eq!(pair.master.get("r"), None);
}

#[tokio::test]
async fn callers_that_come_during_a_wait_share_the_next_one() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &acknowledged_by(1)).await;
    let held = client().acquire(&set, &once("held").ttl(LONG)).await;
    let (held, ended) = (held.unwrap(), client().acquire(&set, &once("ended")).await);
    let before = pair.master.calls("wait");
    let first = acquire_without_replica(&pair, &set, "first").await;
    let (client, mut others) = (client(), Vec::new());
    for number in 0..40 {
        let request = once(format!("r{number}"));
        others.push(stand_in_line(&client, &set, &request));
        // The node could send the call now.
        tokio::task::yield_now().await;
    }
    drop(ended);
    let (first, others, extended, ()) = tokio::join!(
        first,
        join_all(others),
        held.extend(LONG * 2),
        pair.proxy.restore()
    );
    first.unwrap();
    extended.unwrap();
    assert!(others.iter().all(Result::is_ok));
    let waits = pair.master.calls("wait") - before;
    assert_eq!(waits, 2, "for 41 locks, an extension and a release");
}

#[tokio::test]
async fn each_master_of_a_cluster_waits_for_its_own_replica() {
    let cluster = RedisCluster::start(1).await;
    let address = RedisAddress::parse(&cluster.url()).expect("a URL");
    let set = connect_to([(address, hastily_acknowledged())]).await;
    let names = [0, 1, 2].map(|master| cluster.name_at(master, "r"));
    for name in &names {
        let lease = acquire(&set, &once(&**name).ttl(LONG)).await;
        lease.release().await;
    }
    let replica = &cluster.servers()[3];
    replica.freeze();
    let error = client().acquire(&set, &once(&*names[0])).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("0 of 1 replicas"), "{error}");
    let lease = acquire(&set, &once(&*names[1]).ttl(LONG)).await;
    lease.release().await;
    replica.thaw();
    acquire(&set, &once(&*names[0]).ttl(LONG)).await;
}

#[tokio::test]
async fn a_server_without_replicas_abstains_and_names_their_number() {
    let node = RedisNode::start().await;
    let options = hastily_acknowledged().replicas(2);
    let set = connect_with([node.url()], &options).await;
    let reason = reason(&set[0]).expect("it has no replicas").to_string();
    assert!(reason.starts_with("0 of 2 replicas"), "{reason}");
    let fix = "the server has 0 connected: add replicas, or lower `replicas`";
    assert!(reason.ends_with(fix), "{reason}");
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
async fn a_node_that_needs_no_replica_never_waits_for_one() {
    let pair = Pair::start().await;
    let set = connect_with([pair.master.url()], &patient()).await;
    pair.replica.freeze();
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    lease.extend(LONG).await.unwrap();
    lease.release().await;
    assert_eq!(pair.master.calls("wait"), 0);
}
