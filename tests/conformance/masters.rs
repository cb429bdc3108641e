//! Nodes of a master that sentinels name, and of the masters of a Cluster. These servers are reached by the addresses
//! that they tell, so no proxy can hold anything back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redlock_conformance::{FEW, LONGEST_WAIT, Report, Rig, ServerFault, TTL, run};
use redlock_core::Node;
use redlock_core::redis::RedisAddress;
use redlock_tests::{RedisCluster, RedisNode, SentinelGroup, eventually};

use crate::{MANY, node};

struct Masters<G> {
    group: G,
    servers: fn(&G) -> Vec<&RedisNode>,
    address: RedisAddress,
    places: AtomicUsize,
}

impl<G: Send + Sync + 'static> Masters<G> {
    async fn run(group: G, servers: fn(&G) -> Vec<&RedisNode>, url: String) -> Report {
        let rig = Self {
            group,
            servers,
            address: RedisAddress::parse(&url).expect("a URL"),
            places: AtomicUsize::new(MANY),
        };
        run(&Arc::new(rig)).await
    }

    fn masters(&self) -> Vec<&RedisNode> {
        (self.servers)(&self.group)
    }

    /// The master that has the slot of `key`.
    fn of(&self, key: &str) -> &RedisNode {
        let masters = self.masters();
        let has_slot = |it: &&&RedisNode| it.try_command::<i64>(["EXISTS", key]).is_ok();
        masters.iter().find(has_slot).expect("a master that serves")
    }
}

impl<G: Send + Sync + 'static> Rig for Masters<G> {
    async fn node(&self) -> Arc<dyn Node> {
        node(&self.address, self.places.load(Ordering::Relaxed)).await
    }

    async fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.of(key).get(key)
    }

    async fn set(&self, key: &str, value: Option<&[u8]>) {
        match value {
            Some(value) => self.of(key).set(key, value, Some(TTL)),
            None => drop(self.of(key).del(key)),
        }
    }

    fn faults(&self) -> &[ServerFault] {
        &[
            ServerFault::Sever,
            ServerFault::Freeze,
            ServerFault::Kill,
            ServerFault::FlushScripts,
            ServerFault::FewPlaces,
        ]
    }

    async fn inflict(&self, fault: ServerFault) {
        for master in self.masters() {
            match fault {
                ServerFault::Freeze => master.freeze(),
                ServerFault::Kill => master.kill(),
                ServerFault::FlushScripts => master.script_flush(),
                ServerFault::FewPlaces => self.places.store(FEW, Ordering::Relaxed),
                _ => drop(master.command(["CLIENT", "KILL", "TYPE", "normal"])),
            }
        }
    }

    async fn mend(&self) {
        self.places.store(MANY, Ordering::Relaxed);
        for master in self.masters() {
            if master.is_running() {
                master.thaw();
            } else {
                master.restart().await;
            }
        }
        for master in self.masters() {
            eventually(
                "a restarted Cluster to serve",
                LONGEST_WAIT,
                async || match master.try_command::<i64>(["EXISTS", "key"]) {
                    Err(error) if error.code() == Some("CLUSTERDOWN") => Err(error.to_string()),
                    _ => Ok(()),
                },
            )
            .await;
        }
    }
}

fn assert_all_but_what_needs_a_proxy(report: &Report) {
    report.assert_passed();
    let expected = [
        "a_release_waits_for_a_connection",
        "what_lost_its_answer_is_released",
        "an_acquisition_that_comes_late_is_released",
        "a_node_is_drained_once_all_is_answered",
    ];
    assert_eq!(report.left_out(), expected);
}

#[tokio::test]
async fn a_node_under_sentinels_keeps_the_contract() {
    let group = SentinelGroup::start().await;
    let url = group.url();
    let report = Masters::run(group, |group| vec![&group.servers[0]], url).await;
    assert_all_but_what_needs_a_proxy(&report);
}

#[tokio::test]
async fn a_node_of_a_cluster_keeps_the_contract() {
    let cluster = RedisCluster::start(0).await;
    let url = cluster.url();
    let report = Masters::run(cluster, |cluster| cluster.servers().iter().collect(), url).await;
    assert_all_but_what_needs_a_proxy(&report);
}
