//! A name, or an address, that moves from one server to another.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use redlock_runtime::config::{RestartCheck, Vetting};
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{
    Names, NodeOptions, Proxy, RedisNode, eventually, lines, wait_until, with_names,
};

use crate::{HIGH, LOW, NAME, SOON, acquire, config, ip, low_and_high, until_locked};

/// Starts a server that [`NAME`] leads to, and its replica.
async fn primary_and_replica(names: &Names) -> (RedisNode, RedisNode) {
    let options = NodeOptions::default().arg("repl-diskless-sync-delay", "0");
    let primary = RedisNode::start_with(options.addresses([LOW])).await;
    let options = NodeOptions::default().replica_of(&primary);
    let replica = RedisNode::start_with(options.addresses([HIGH]).port_of(&primary)).await;
    let link = || replica.info("master_link_status");
    let is_up = |link: &Option<String>| link.as_deref() == Some("up");
    wait_until("the replica to follow", link, is_up).await;
    names.point(NAME, [ip(&primary)]);
    (primary, replica)
}

/// Exchanges the roles, as a managed service does before it moves the name.
fn fail_over(primary: &RedisNode, replica: &RedisNode) {
    replica.command(["REPLICAOF", "NO", "ONE"]);
    let (host, port) = (ip(replica).to_string(), replica.port().to_string());
    primary.command(["REPLICAOF", &host, &port]);
}

#[test]
fn a_pool_follows_its_name_to_the_promoted_server() {
    with_names(async |names| {
        let (primary, replica) = primary_and_replica(names).await;
        let redlock = Redlock::start(config(&primary)).await.unwrap();
        acquire(&redlock).await.unwrap().release().await;
        fail_over(&primary, &replica);
        acquire(&redlock).await.map(|_| ()).unwrap_err();
        // For a while the name may lead to both.
        names.point(NAME, [ip(&primary), ip(&replica)]);
        let _lease = until_locked(&redlock).await;
        assert!(replica.get("r").is_some());
    });
}

/// Asserts that a lock outlasts a failover from `primary` to `replica`, is nobody else's meanwhile, and is released.
async fn assert_outlasts(
    config: Config,
    primary: &RedisNode,
    replica: &RedisNode,
    move_endpoint: impl AsyncFnOnce(),
) {
    const TTL: Duration = Duration::from_secs(9);
    let lines = lines();
    let config = config.node_timeout(Duration::from_secs(2));
    let holder = Redlock::start(config.clone()).await.unwrap();
    let other = Redlock::start(config).await.unwrap();
    let held = lock("r").ttl(TTL).max_hold(TTL * 100).acquire();
    let lease = holder.registry().clone().scope(held).await.unwrap();
    wait_until("a copy", || replica.get("r"), Option::is_some).await;
    fail_over(primary, replica);
    let began = Instant::now();
    let end = || began.elapsed() + replica.pttl("r").left().unwrap_or_default();
    acquire(&other).await.map(|_| ()).unwrap_err();
    move_endpoint().await;
    let is_renewed = |end: &Duration| *end > TTL + Duration::from_secs(1);
    wait_until("a renewal", end, is_renewed).await;
    acquire(&other).await.map(|_| ()).unwrap_err();
    assert!(lease.validity() > Duration::ZERO);
    lease.release().await;
    assert_eq!(replica.get("r"), None);
    until_locked(&other).await.release().await;
    let bad = |line: &&str| line.contains("ERROR") || line.contains("lost");
    assert_eq!(lines.text().lines().find(bad), None);
}

#[test]
fn a_held_lock_outlasts_a_failover_behind_a_name() {
    with_names(async |names| {
        let (primary, replica) = primary_and_replica(names).await;
        let moves = async || {
            // The old server answers on, as a replica.
            let refused = || primary.info("errorstat_READONLY");
            wait_until("a refused call", refused, Option::is_some).await;
            names.point(NAME, [ip(&replica)]);
        };
        assert_outlasts(config(&primary), &primary, &replica, moves).await;
    });
}

#[test]
fn a_held_lock_outlasts_a_failover_behind_an_address() {
    with_names(async |names| {
        let (primary, replica) = primary_and_replica(names).await;
        let proxy = Proxy::start(&primary).await;
        let moves = async || {
            primary.kill();
            proxy.lead_to(&replica).await;
        };
        let config = config(&primary).pool("a", proxy.url());
        assert_outlasts(config, &primary, &replica, moves).await;
    });
}

#[test]
fn a_promoted_server_is_in_quarantine_under_the_restart_check() {
    with_names(async |names| {
        let lines = lines();
        let (primary, replica) = primary_and_replica(names).await;
        let ttl = Duration::from_secs(3);
        let config = config(&primary)
            .defaults(LockOptions::new().ttl(ttl).retry_count(0))
            .max_ttl(ttl)
            .restart_check(RestartCheck::Standard);
        let redlock = Redlock::start(config).await.unwrap();
        until_locked(&redlock).await.release().await;
        fail_over(&primary, &replica);
        names.point(NAME, [ip(&replica)]);
        let _lease = until_locked(&redlock).await;
        assert!(replica.get("r").is_some());
        let reason = "may have forgotten locks; it votes again within";
        let told = lines.with(&["not locked", reason]);
        assert!(!told.is_empty(), "{}", lines.text());
    });
}

/// With a warning only, each connection is made, answers the restart check, and ends with the first call.
#[test]
fn a_replica_that_is_only_warned_of_is_tried_ever_more_rarely() {
    const WATCHED: Duration = Duration::from_secs(4);
    with_names(async |names| {
        let lines = lines();
        let (primary, replica) = primary_and_replica(names).await;
        let config = config(&primary).vetting("a", Vetting::Warn);
        let redlock = Redlock::start(config).await.unwrap();
        acquire(&redlock).await.unwrap().release().await;
        fail_over(&primary, &replica);
        let connections = || redlock.registry().health()[0].node_health.connections;
        let (before, began) = (connections(), Instant::now());
        eventually("many calls", SOON, async || {
            acquire(&redlock).await.map(|_| ()).unwrap_err();
            (began.elapsed() >= WATCHED)
                .then_some(())
                .ok_or(String::new())
        })
        .await;
        // Ten a second without a pause that grows, and two with it.
        let (made, most) = (connections() - before, 5 * began.elapsed().as_secs() + 5);
        assert!((2..=most).contains(&made), "{made} connections");
        let told = lines.with(&["WARN", "pool=a", "replica"]);
        let texts = told.iter().map(|line| {
            let from = line.find("WARN").expect("a warning");
            line[from..].split(" held_back=").next()
        });
        let texts: BTreeSet<_> = texts.collect();
        assert!(!told.is_empty() && texts.len() == told.len(), "{told:#?}");

        names.point(NAME, [ip(&replica)]);
        let _lease = until_locked(&redlock).await;
        assert!(replica.get("r").is_some());
    });
}

/// There is no restart check.
#[test]
fn another_server_behind_the_name_is_in_the_log() {
    with_names(async |names| {
        let lines = lines();
        let (low, high) = low_and_high(NodeOptions::default()).await;
        names.point(NAME, [ip(&low)]);
        let redlock = Redlock::start(config(&low)).await.unwrap();
        acquire(&redlock).await.unwrap().release().await;
        // Another connection to the same server is no news.
        let told = || lines.with(&["WARN", "pool=a", "another server"]);
        low.command(["CLIENT", "KILL", "TYPE", "normal"]);
        until_locked(&redlock).await.release().await;
        assert_eq!(told(), [""; 0]);

        names.point(NAME, [ip(&high)]);
        low.command(["CLIENT", "KILL", "TYPE", "normal"]);
        until_locked(&redlock).await.release().await;
        assert_eq!(told().len(), 1, "{}", lines.text());
    });
}
