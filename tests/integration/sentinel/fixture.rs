//! Nodes whose server the sentinels name.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redlock_core::guard::{Fleet, RestartGuard};
use redlock_core::{
    Client, IoThread, Lease, Node, NodeError, NodeErrorKind, NodeSet, NodeStatus, RedisAddress,
    RedisNode, RedisOptions, Request,
};
use redlock_tests::eventually;

/// How long a test waits for what takes milliseconds, and a failover seconds, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(40);

/// No quarantine of such a length ends during a test.
pub(crate) const MAX_TTL: Duration = Duration::from_secs(300);

pub(crate) static IO: LazyLock<IoThread> = LazyLock::new(|| IoThread::start().expect("a thread"));

/// A client whose node timeout is no part of the test.
pub(crate) fn client() -> Client {
    Client::with_settings(IO.environment(), SOON, [])
}

/// A client with the node timeout that one has unless told otherwise.
pub(crate) fn impatient() -> Client {
    Client::new(IO.environment())
}

pub(crate) fn once(resource: &str) -> Request {
    Request::new(resource).retries(0)
}

/// No node is suspect for being slow.
pub(crate) fn calm() -> RedisOptions {
    let mut options = RedisOptions::default();
    options.suspect_after = SOON;
    options.dead_after = SOON * 2;
    options
}

/// A silent server is suspect soon, and is not given up for being silent.
pub(crate) fn wary() -> RedisOptions {
    let mut options = calm();
    options.suspect_after = Duration::from_millis(200);
    options
}

/// Nodes a, b, c … of one fleet, each connected or known not to be.
pub(crate) async fn connect(
    urls: impl IntoIterator<Item = String>,
    guard: RestartGuard,
    mut options: RedisOptions,
) -> NodeSet {
    let urls: Vec<String> = urls.into_iter().collect();
    options.fleet = Some(Arc::new(Fleet::new(guard, MAX_TTL, urls.len())));
    let start = |(url, name): (&String, char)| {
        let address = RedisAddress::parse(url).expect("the harness makes good URLs");
        RedisNode::start(name.to_string(), address, options.clone(), &IO)
    };
    let nodes: Vec<_> = urls.iter().zip('a'..).map(start).collect();
    for node in &nodes {
        node.settled().await;
    }
    let nodes = nodes.into_iter();
    nodes.map(|node| Arc::new(node) as Arc<dyn Node>).collect()
}

/// One node with the guard off, as it is for a single pool.
pub(crate) async fn single(url: String, options: RedisOptions) -> NodeSet {
    connect([url], RestartGuard::Off, options).await
}

pub(crate) fn reason(node: &Arc<dyn Node>) -> Option<NodeError> {
    match node.status() {
        NodeStatus::Abstaining(reason) => Some(reason),
        _ => None,
    }
}

pub(crate) async fn until_voting(node: &Arc<dyn Node>) {
    eventually("a vote", SOON, async || {
        reason(node).map_or(Ok(()), |reason| Err(format!("{reason:?}")))
    })
    .await;
}

/// Waits until the server is known for one that may have forgotten locks.
pub(crate) async fn until_quarantined(node: &Arc<dyn Node>) {
    eventually(
        "the promoted replica to be known for one",
        SOON,
        async || match (reason(node), node.epoch()) {
            (Some(reason), 1) if reason.kind() == NodeErrorKind::Quarantined => Ok(()),
            other => Err(format!("{other:?}")),
        },
    )
    .await;
}

/// Waits until the node votes no for a reason that says so.
pub(crate) async fn until_abstaining(node: &Arc<dyn Node>, because: &str) -> String {
    eventually("the node to abstain", SOON, async || {
        let reason = reason(node).map(|reason| reason.to_string());
        let reason = reason.ok_or("it votes")?;
        let is_it = reason.contains(because);
        is_it.then_some(reason.clone()).ok_or(reason)
    })
    .await
}

/// Asks until the lock is there: a node that was just found may still refuse.
pub(crate) async fn lock_soon(set: &NodeSet, resource: &str) -> Lease {
    eventually("the lock", SOON, async || {
        let lease = client().acquire(set, &once(resource)).await;
        lease.map_err(|error| error.to_string())
    })
    .await
}

/// Waits until the node's locks are on `server`.
pub(crate) async fn until_at(set: &NodeSet, server: &redlock_tests::RedisNode) {
    eventually("a lock on the new master", SOON, async || {
        let lease = impatient().acquire(set, &once("probe")).await;
        let lease = lease.map_err(|error| error.to_string())?;
        let is_there = server.get("probe").is_some();
        lease.release().await;
        is_there
            .then_some(())
            .ok_or(format!("it is not on {server}"))
    })
    .await;
}
