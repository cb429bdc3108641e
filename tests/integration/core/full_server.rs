//! A server that is out of memory refuses new locks. Existing holders keep their locks, and can release them.

use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::request::Kind;
use redlock_core::{NodeSet, Request, Resource};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

use crate::core::fixture::{SOON, client, connect_with, once, settle, start, until_voting};
use crate::replicas::acknowledged_by;

const TTL: Duration = Duration::from_secs(600);
const LONGER: Duration = Duration::from_secs(6000);
const PERIOD: Duration = Duration::from_secs(60 * 60);

/// Each holder has a resource of its own, but for the two readers. The second of them stays longer.
fn holders() -> Vec<(Request, Duration)> {
    let nine = Resource::all((0..9).map(|key| format!("many:{key}")));
    let once_per = once("job").once_per(PERIOD);
    let fenced = [
        once("fenced"),
        once("fenced reader").kind(Kind::Read),
        once(["one", "other"]),
    ];
    let fenced = fenced.map(|request| request.fencing(true));
    let plain = [
        once("plain"),
        once("plain too"),
        once(["a", "b"]),
        once(nine),
        once("permits").kind(Kind::Permits(2)),
        once("permits").kind(Kind::Permits(2)),
        once("readers").kind(Kind::Read),
        once("readers").kind(Kind::Read),
        once("writer").kind(Kind::Write),
        once_per,
    ];
    let requests = fenced.into_iter().chain(plain);
    let with_ttl = |(place, request): (u32, Request)| (request.ttl(TTL), LONGER + TTL * place);
    (0..).zip(requests).map(with_ttl).collect()
}

#[tokio::test]
async fn every_kind_of_holder_goes_on_and_releases_on_a_full_server() {
    let (nodes, set) = start(1).await;
    holders_go_on_and_release(&nodes, &set).await;
}

#[tokio::test]
async fn holders_go_on_on_a_full_server_whose_replica_acknowledges() {
    let nodes = Nodes::start(1).await;
    let options = NodeOptions::default().arg("repl-diskless-sync-delay", "0");
    let _replica = RedisNode::start_with(options.replica_of(&nodes[0])).await;
    let set = connect_with(nodes.urls(), &acknowledged_by(1)).await;
    until_voting(&set[0], true).await;
    holders_go_on_and_release(&nodes, &set).await;
}

async fn holders_go_on_and_release(nodes: &Nodes, set: &NodeSet) {
    // One by one, and all at once: releases that pile up go in one script.
    for at_once in [false, true] {
        let mut leases = Vec::new();
        for (request, longer) in holders() {
            let lease = client().acquire(set, &request).await.unwrap();
            leases.push((format!("{request:?}"), lease, longer));
        }
        nodes[0].command(["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
        nodes[0].command(["CONFIG", "SET", "maxmemory", "1"]);
        let refused = client().acquire(set, &once("new")).await.unwrap_err();
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");

        let mut failed = Vec::new();
        for (what, lease, longer) in &leases {
            if let Err(error) = lease.extend(*longer).await {
                failed.push(format!("{what} is not extended: {error}"));
            }
            // No key has to live longer for this.
            if let Err(error) = lease.extend(TTL).await {
                failed.push(format!("{what} is not extended again: {error}"));
            }
        }
        // The reader that stays longer is released first, and the key is shortened.
        leases.reverse();
        for (_, lease, _) in &mut leases {
            lease.remember_run();
        }
        if at_once {
            nodes[0].freeze();
            drop(leases);
            nodes[0].thaw();
        } else {
            for (what, lease, _) in leases {
                if lease.release().await != Released::Confirmed {
                    failed.push(format!("{what} is not released"));
                }
            }
        }
        settle(set).await;
        assert_eq!(failed, [""; 0]);
        nodes.assert_no_lock_keys(SOON).await;
        assert!(
            nodes[0].get("redlock:once:{job}").is_some(),
            "no record of the run"
        );
        nodes[0].command(["CONFIG", "SET", "maxmemory", "0"]);
        nodes[0].flushall();
    }
}
