//! A client of a Redis Cluster.

use std::time::Duration;

use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::{Client, Lease, NodeSet};
use redlock_tests::{RedisCluster, eventually};

pub(crate) use crate::core::fixture::{SOON, client, once};
use crate::core::fixture::{calm, client_with_timeout, connect_to};

/// No lease with this ttl ends during a test.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// Returns a client that waits a second for a server that hangs: long enough for a busy machine.
pub(crate) fn impatient() -> Client {
    client_with_timeout(Duration::from_secs(1))
}

/// The Cluster as the one node of a set, connected or known not to be.
pub(crate) async fn connect(cluster: &RedisCluster) -> NodeSet {
    connect_with(&cluster.url(), calm()).await
}

pub(crate) async fn connect_with(url: &str, options: RedisOptions) -> NodeSet {
    let address = RedisAddress::parse(url).expect("the harness makes good URLs");
    connect_to([(address, options)]).await
}

/// Returns why the node does not serve all slots, if it does not.
pub(crate) fn reason(set: &NodeSet) -> Option<String> {
    crate::core::fixture::reason(&set[0]).map(|reason| reason.to_string())
}

pub(crate) async fn until_voting(set: &NodeSet) {
    crate::core::fixture::until_voting(&set[0], true).await;
}

/// Waits for an extension: a slot that has moved is refused until its new master is known.
pub(crate) async fn extend_soon(lease: &Lease) {
    eventually("an extension", SOON, async || {
        let extended = lease.extend(LONG).await;
        extended.map_err(|error| error.to_string())
    })
    .await;
}
