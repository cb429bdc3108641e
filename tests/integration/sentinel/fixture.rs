//! Nodes whose server the sentinels name.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::node::{NodeError, NodeErrorKind};
use redlock_core::redis::RedisOptions;
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_core::{Lease, Node, NodeSet, Request};
use redlock_tests::{eventually, wait_until};

pub(crate) use crate::cluster::fixture::impatient;
use crate::core::fixture::connect_with;
pub(crate) use crate::core::fixture::{SOON, calm, client, reason, until_abstaining};

/// No lock and no quarantine of this length ends during a test.
pub(crate) const MAX_TTL: Duration = Duration::from_secs(300);

/// One attempt, for a lease that does not end by itself.
pub(crate) fn once(resource: &str) -> Request {
    Request::new(resource).ttl(MAX_TTL).retry_limit(0)
}

/// Returns options for servers or sentinels that hang: an attempt to connect to one ends soon, and then there
/// is another. A sentinel is waited for half of that.
pub(crate) fn brief() -> RedisOptions {
    calm().connect_timeout(Duration::from_secs(2))
}

/// Options with which a silent server is suspect soon, and is not given up. An idle node asks its server nothing.
pub(crate) fn wary() -> RedisOptions {
    brief()
        .heartbeat(SOON * 10)
        .suspect_after(Duration::from_millis(200))
}

/// Nodes a, b, c … of one checked set, each connected or known not to be.
async fn connect(
    urls: &[String],
    (restart_check, max_ttl): (RestartCheck, Duration),
    options: RedisOptions,
) -> NodeSet {
    let options = options.checked_set(Arc::new(CheckedSet::new(
        restart_check,
        max_ttl,
        urls.len(),
        b"",
    )));
    connect_with(urls.iter().cloned(), &options).await
}

/// Nodes a, b, c … of one checked set, with the restart check on. All of them vote.
pub(crate) async fn checked(
    urls: impl IntoIterator<Item = String>,
    options: RedisOptions,
) -> NodeSet {
    let urls: Vec<String> = urls.into_iter().collect();
    let restart_check = RestartCheck::Standard;
    // On a slow machine a node of a new set may be found too late, and is then in quarantine. So a
    // client with a short quarantine opens the set.
    let short = Duration::from_secs(2);
    drop(all_voting(connect(&urls, (restart_check, short), options.clone()).await).await);
    all_voting(connect(&urls, (restart_check, MAX_TTL), options).await).await
}

async fn all_voting(set: NodeSet) -> NodeSet {
    for node in set.iter() {
        until_voting(node).await;
    }
    set
}

/// One node with the restart check off, as it is for a single pool. It is connected or known not to be.
pub(crate) async fn single(url: String, options: RedisOptions) -> NodeSet {
    let restart_check = (RestartCheck::Off, MAX_TTL);
    connect(&[url], restart_check, options).await
}

/// The same of a node that votes.
pub(crate) async fn voting(url: String, options: RedisOptions) -> NodeSet {
    let set = single(url, options).await;
    until_voting(&set[0]).await;
    set
}

pub(crate) async fn until_voting(node: &Arc<dyn Node>) {
    crate::core::fixture::until_voting(node, true).await;
}

/// Waits until the node is in quarantine, because its server may have forgotten locks.
pub(crate) async fn until_quarantined(node: &Arc<dyn Node>) {
    let seen = || (reason(node), node.epoch());
    let is_known = |(reason, epoch): &(Option<NodeError>, u32)| {
        let kind = reason.as_ref().map(NodeError::kind);
        kind == Some(NodeErrorKind::Quarantined) && *epoch == 1
    };
    wait_until("the promoted replica to be known", seen, is_known).await;
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
    // What such an attempt leaves behind is gone before it is in the way for long.
    let probe = once("probe").ttl(Duration::from_secs(4));
    eventually("a lock on the new master", SOON, async || {
        let lease = impatient().acquire(set, &probe).await;
        let lease = lease.map_err(|error| error.to_string())?;
        let is_there = server.get("probe").is_some();
        lease.release().await;
        is_there
            .then_some(())
            .ok_or(format!("it is not on {server}"))
    })
    .await;
}
