//! A client of a Redis Cluster.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redlock_core::node::NodeStatus;
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::{Client, IoThread, Node, NodeSet, RedisNode, Request};
use redlock_tests::{RedisCluster, eventually};

/// How long a test waits for something that takes milliseconds, or a failover, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(30);

static IO: LazyLock<IoThread> = LazyLock::new(|| IoThread::start().expect("a thread"));

/// A client whose node timeout is no part of the test.
pub(crate) fn client() -> Client {
    Client::with_settings(
        IO.environment(),
        redlock_core::Settings::default()
            .node_timeout(SOON)
            .key_prefix([]),
    )
}

/// A client that does not wait long for a master that hangs, and long enough for a busy machine.
pub(crate) fn impatient() -> Client {
    Client::with_settings(
        IO.environment(),
        redlock_core::Settings::default()
            .node_timeout(Duration::from_secs(1))
            .key_prefix([]),
    )
}

/// The Cluster as the one node of a set, connected or known not to be.
pub(crate) async fn connect(cluster: &RedisCluster) -> NodeSet {
    connect_to(&cluster.url()).await
}

pub(crate) async fn connect_to(url: &str) -> NodeSet {
    connect_with(url, patient()).await
}

/// On a busy machine no server is suspect for being slow.
pub(crate) fn patient() -> RedisOptions {
    let mut options = RedisOptions::default();
    options.suspect_after = SOON;
    options.dead_after = SOON * 2;
    options.connect_timeout = SOON;
    options
}

pub(crate) async fn connect_with(url: &str, options: RedisOptions) -> NodeSet {
    let address = RedisAddress::parse(url).expect("the harness makes good URLs");
    start(address, options).await
}

pub(crate) async fn start(address: RedisAddress, options: RedisOptions) -> NodeSet {
    let node = Arc::new(RedisNode::start("a", address, options, &IO));
    node.settled().await;
    [node as Arc<dyn Node>].into()
}

/// One attempt, so that a refusal is an answer and not a wait.
pub(crate) fn once(resource: &str) -> Request {
    Request::new(resource).retries(0)
}

/// Why the node does not serve all slots, where it does not.
pub(crate) fn reason(set: &NodeSet) -> Option<String> {
    match set[0].status() {
        NodeStatus::Abstaining(reason) => Some(reason.to_string()),
        _ => None,
    }
}

pub(crate) async fn until_voting(set: &NodeSet) {
    eventually("all slots to be served", SOON, || async {
        reason(set).map_or(Ok(()), Err)
    })
    .await;
}
