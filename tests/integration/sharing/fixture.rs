//! Requests of readers and writers, and what they leave on a server.

use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::node::Obstacle;
use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Lease, NodeSet, Request};
use redlock_tests::{Nodes, RedisNode, eventually};

use crate::core::fixture::{SOON, client, once};

/// The keys beside the lock `r`.
pub(super) const READERS: &str = "redlock:readers:{r}";
pub(super) const INTENT: &str = "redlock:intent:{r}";
pub(super) const TURN: &str = "redlock:turn:{r}";

/// Has a node believe that it is the turn of a reader that was refused.
pub(super) const FORGED_TURN: [&str; 6] = ["ZADD", TURN, "8e15", "web-1", "8e15", "due"];

pub(super) const TTL: Duration = Duration::from_secs(600);

/// What another client has in a key of its own.
pub(super) const FOREIGN: &str = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

pub(super) fn reads() -> Request {
    once("r").kind(Kind::Read).ttl(TTL)
}

pub(super) fn writes() -> Request {
    once("r").kind(Kind::Write).ttl(TTL)
}

pub(super) fn plain() -> Request {
    once("r").ttl(TTL)
}

/// The same, waiting for ever. Its pauses are long: what ends them early is a report of a node.
pub(super) fn patiently(mut request: Request) -> Request {
    request.retry.limit = RetryLimit::Forever;
    request.retry.delay = Duration::from_secs(3);
    request
}

/// The lease of a client of its own, as another process has one.
pub(super) async fn acquired(set: &NodeSet, request: &Request) -> Lease {
    client().acquire(set, request).await.unwrap()
}

/// What keeps a client of its own out.
pub(super) async fn refused(set: &NodeSet, request: &Request) -> (Obstacle, String) {
    let error = client().acquire(set, request).await.unwrap_err();
    let AcquireError::Contended(contended) = &error else {
        panic!("{error}");
    };
    (contended.holding.obstacle, error.to_string())
}

/// The tokens of the readers that have an entry.
pub(super) fn entries(node: &RedisNode) -> Vec<String> {
    node.try_command(["ZRANGE", READERS, "0", "-1"])
        .expect("a sorted set")
}

/// Waits until each node has this number of entries.
pub(super) async fn until_entries(nodes: &Nodes, count: usize) {
    eventually("entries", SOON, async || {
        let entries: Vec<_> = nodes.iter().map(entries).collect();
        let are_all = entries.iter().all(|entries| entries.len() == count);
        are_all.then_some(()).ok_or(format!("{entries:?}"))
    })
    .await;
}

/// Waits until each node has this key.
pub(super) async fn until_there(nodes: &Nodes, key: &str) {
    eventually(key, SOON, async || {
        let without = nodes.iter().find(|node| !node.keys().contains(&key.into()));
        without.map_or(Ok(()), |node| Err(format!("not on {node}")))
    })
    .await;
}
