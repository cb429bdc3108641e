//! Servers that a lock cannot rely on.

use redlock_core::Node as _;
use redlock_core::node::NodeErrorKind::Refused;
use redlock_core::restart_check::RestartCheck;
use redlock_runtime::config::Vetting;
use redlock_runtime::{Config, Redlock};
use redlock_tests::{NodeOptions, Nodes, RedisNode, wait_until};

use crate::restart_check::fixture::{MARKER, OFTEN, Set};
use crate::restart_check::leases::config;

async fn refusal(config: Config) -> String {
    let started = Redlock::start(config).await.map(|_| ());
    started.unwrap_err().to_string()
}

#[tokio::test]
async fn a_replica_is_refused_at_the_start_unless_only_warned_of() {
    let nodes = Nodes::start(2).await;
    let replica = RedisNode::start_with(NodeOptions::default().replica_of(&nodes[0])).await;
    let with_replica = || config(&nodes).pool("c", replica.url());
    let text = refusal(with_replica()).await;
    assert!(text.contains("`c` is a replica of"), "{text}");
    // It votes, but no marker can be written there.
    let restart_check = redlock_runtime::config::RestartCheck::Off;
    let config = with_replica()
        .vetting("c", Vetting::Warn)
        .restart_check(restart_check);
    let redlock = Redlock::start(config).await.unwrap();
    assert_eq!(redlock.registry().votes().voting, 3);
}

#[tokio::test]
async fn two_pools_that_are_one_server_are_refused() {
    let nodes = Nodes::start(1).await;
    let other_name = format!("redis://localhost:{}", nodes[0].port());
    let twice = || config(&nodes).pool("b", other_name.clone());
    for config in [
        twice(),
        twice()
            .vetting("a", Vetting::Warn)
            .vetting("b", Vetting::Warn),
    ] {
        let text = refusal(config).await;
        let (one, other) = (
            "`b` is the same server as `a`",
            "`a` is the same server as `b`",
        );
        assert!(text.contains(one) || text.contains(other), "{text}");
    }
}

#[tokio::test]
async fn a_node_of_another_wire_format_is_refused_until_idle() {
    let nodes = Nodes::start(3).await;
    let theirs = "2 of a later version";
    let set = Set::attentive(nodes.urls()).await.voting().await;
    let mut epochs = set.epochs(0);
    nodes[0].set(MARKER, theirs, None);
    epochs.next().await;
    let reason = set.until(0, Refused).await;
    let text = refusal(config(&nodes)).await;
    for told in [reason, text] {
        let formats = "`a` has the marker of wire format 2, and this process has wire format 1";
        assert!(told.contains(formats), "{told}");
    }
    assert_eq!(nodes[0].get(MARKER).as_deref(), Some(theirs.as_bytes()));
    nodes[0].set(MARKER, "idle", None);
    set.until_voting(0).await;
}

#[tokio::test]
async fn a_server_that_begins_to_evict_is_refused_or_warned_of() {
    let nodes = Nodes::start(2).await;
    let set = Set::attentive([nodes[0].url()]).await;
    let lenient = Set::with([nodes[1].url()], RestartCheck::Standard, |options| {
        options.heartbeat(OFTEN).vetting(Vetting::Warn)
    })
    .await;
    for node in &nodes {
        node.command(["CONFIG", "SET", "maxmemory", "50mb"]);
        node.command(["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    }
    let reason = set.until(0, Refused).await;
    assert!(
        reason.contains("`a` evicts keys") && reason.contains("allkeys-lru"),
        "{reason}"
    );
    nodes[0].command(["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    set.until_voting(0).await;
    // It is looked at too, and goes on with the connection that it has.
    let clients = || -> String { nodes[1].try_command(["CLIENT", "LIST"]).unwrap() };
    let is_asked = |clients: &String| clients.contains("cmd=info");
    wait_until("another look at the memory", clients, is_asked).await;
    assert_eq!(lenient.votes(), [true]);
    assert_eq!(lenient.nodes[0].health().connections, 1);
}

#[tokio::test]
async fn a_master_that_becomes_a_writable_replica_is_refused() {
    let options = NodeOptions::default().arg("replica-read-only", "no");
    let nodes = Nodes::start_with(2, options).await;
    let set = Set::with([nodes[0].url()], RestartCheck::Off, |options| {
        options.heartbeat(OFTEN)
    })
    .await;
    set.until_voting(0).await;
    let port = nodes[1].port().to_string();
    nodes[0].command(["REPLICAOF", "127.0.0.1", &port]);
    let reason = set.until(0, Refused).await;
    assert!(reason.contains("is a replica of"), "{reason}");
    nodes[0].command(["REPLICAOF", "NO", "ONE"]);
    set.until_voting(0).await;
}

#[tokio::test]
async fn a_trusted_file_that_is_no_longer_always_synced_is_refused() {
    let node = RedisNode::start_with(NodeOptions::default().append_only()).await;
    let set = Set::with([node.url()], RestartCheck::Standard, |options| {
        options.heartbeat(OFTEN).trust_aof(true)
    })
    .await;
    for (setting, good, bad) in [
        ("appendfsync", "always", "everysec"),
        ("no-appendfsync-on-rewrite", "no", "yes"),
        ("appendonly", "yes", "no"),
    ] {
        set.until_voting(0).await;
        node.command(["CONFIG", "SET", setting, bad]);
        let reason = set.until(0, Refused).await;
        assert!(reason.contains(&format!("{setting} {bad}")), "{reason}");
        node.command(["CONFIG", "SET", setting, good]);
    }
}
