//! Requests of readers and writers, and what they leave on a server.

use std::time::Duration;

use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Lease, NodeSet, Request};
use redlock_tests::{Nodes, RedisNode, wait_until};

use crate::core::fixture::{client, once};
pub(super) use crate::core::kinds::refused;

/// The keys beside the lock `r`.
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
pub(super) fn patiently(request: Request) -> Request {
    request
        .retry_limit(RetryLimit::Forever)
        .retry_delay(Duration::from_secs(3))
}

/// The lease of a client of its own, as another process has one.
pub(super) async fn acquired(set: &NodeSet, request: &Request) -> Lease {
    client().acquire(set, request).await.unwrap()
}

/// Waits until each node has this key.
pub(super) async fn until_there(nodes: &Nodes, key: &str) {
    let has_none = |node: &&RedisNode| !node.keys().contains(&key.into());
    wait_until(key, || nodes.iter().find(has_none), Option::is_none).await;
}
