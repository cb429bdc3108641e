//! A name that moves from one server to another.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use redlock_runtime::Redlock;
use redlock_runtime::config::{RestartCheck, Vetting};
use redlock_runtime::parameters::LockOptions;
use redlock_tests::{Names, NodeOptions, RedisNode, eventually, lines, wait_until, with_names};

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
