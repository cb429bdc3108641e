//! Votes that depend on replicas.

mod failovers;
mod votes;

use std::time::Duration;

use redlock_core::redis::RedisOptions;
use redlock_core::{Lease, NodeSet, Request};
use redlock_tests::{NodeOptions, Proxy, RedisNode, eventually, wait_until};

use crate::core::fixture::{SOON, client, patient};

/// Returns options whose votes need an acknowledgement by `replicas` replicas, however long that takes.
pub(crate) fn acknowledged_by(replicas: u32) -> RedisOptions {
    patient().replicas(replicas).replica_timeout(SOON)
}

/// Returns options whose votes need an acknowledgement by a replica soon. On a busy machine it may be late at times.
fn hastily_acknowledged() -> RedisOptions {
    acknowledged_by(1).replica_timeout(Duration::from_millis(200))
}

/// Acquires a lock. Tries again while the node abstains.
async fn acquire(set: &NodeSet, request: &Request) -> Lease {
    eventually("a lock", SOON, async || {
        let lease = client().acquire(set, request).await;
        lease.map_err(|error| error.to_string())
    })
    .await
}

/// No lock of this ttl ends during a test.
const LONG: Duration = Duration::from_secs(300);

/// A master and its only replica, which follows the master through a proxy.
struct Pair {
    master: RedisNode,
    replica: RedisNode,
    proxy: Proxy,
}

impl Pair {
    /// Starts the pair. Returns once the replica follows the master.
    async fn start() -> Self {
        let options = NodeOptions::default().arg("repl-diskless-sync-delay", "0");
        let master = RedisNode::start_with(options.clone()).await;
        let proxy = Proxy::start(&master).await;
        let followed = format!("127.0.0.1 {}", proxy.addr().port());
        let replica = RedisNode::start_with(options.arg("replicaof", &followed)).await;
        let state = || master.info("slave0").unwrap_or_default();
        wait_until("the replica to follow", state, |it| {
            it.contains("state=online")
        })
        .await;
        Self {
            master,
            replica,
            proxy,
        }
    }

    /// Kills the master, and promotes the replica at once.
    fn fail_over(&self) {
        self.master.kill();
        self.replica.command(["REPLICAOF", "NO", "ONE"]);
    }
}
