//! Clients of servers with TLS.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redlock_core::node::NodeStatus;
use redlock_core::redis::{RedisAddress, RedisOptions, TlsOptions};
use redlock_core::{Client, IoThread, Node, NodeSet, RedisNode, Request};
use redlock_tests::{Authority, Identity, eventually};

/// How long a test waits for something that takes milliseconds, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

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

pub(crate) fn once(resource: &str) -> Request {
    Request::new(resource).retries(0)
}

/// Trusts what `authority` issued.
pub(crate) fn trusting(authority: &Authority) -> TlsOptions {
    let mut options = TlsOptions::default();
    options.ca = Some(authority.ca().to_owned());
    options
}

pub(crate) fn showing(identity: &Identity, mut options: TlsOptions) -> TlsOptions {
    options.certificate = Some(identity.certificate.clone());
    options.key = Some(identity.key.clone());
    options
}

/// On a busy machine no node is suspect for being slow.
pub(crate) fn patient() -> RedisOptions {
    let mut options = RedisOptions::default();
    options.connect_timeout = SOON;
    options.suspect_after = SOON;
    options.dead_after = SOON * 2;
    options
}

pub(crate) fn node(url: &str, tls: &TlsOptions, options: RedisOptions) -> Arc<RedisNode> {
    let address = RedisAddress::parse(url).expect("the harness makes good URLs");
    let address = address.with_tls(tls.clone()).expect("good files");
    Arc::new(RedisNode::start("a", address, options, &IO))
}

/// A node for each URL, each connected or known not to be.
pub(crate) async fn connect(urls: impl IntoIterator<Item = String>, tls: &TlsOptions) -> NodeSet {
    let nodes: Vec<_> = urls
        .into_iter()
        .map(|url| node(&url, tls, patient()))
        .collect();
    for node in &nodes {
        node.settled().await;
    }
    nodes
        .into_iter()
        .map(|node| node as Arc<dyn Node>)
        .collect()
}

/// Why a server that is connected to like this does not vote; it has to be known at the first
/// attempt.
pub(crate) async fn refusal(url: &str, tls: &TlsOptions) -> String {
    let node = node(url, tls, patient());
    node.settled().await;
    match node.status() {
        NodeStatus::Abstaining(reason) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn until_voting(node: &dyn Node, expected: bool) {
    eventually("the node's status", SOON, || async {
        match (node.status(), expected) {
            (NodeStatus::Voting, true) | (NodeStatus::Abstaining(_), false) => Ok(()),
            (status, _) => Err(format!("{status:?}")),
        }
    })
    .await;
}

/// Takes a lock and gives it back.
pub(crate) async fn lock_once(set: &NodeSet) {
    let lease = client().acquire(set, &once("r")).await.unwrap();
    lease.release().await;
}
