//! A client of real nodes.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Waker};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::node::{NodeError, NodeStatus};
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::{
    Client, IoThread, Lease, Node, NodeSet, RedisNode, Request, Resource, Settings,
};
use redlock_tests::{Nodes, wait_until};

/// The longest wait of a test for milliseconds of work, or for a failover, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(40);

/// One I/O thread for all tests, as a process has one.
pub(crate) static IO: LazyLock<IoThread> = LazyLock::new(|| IoThread::start().expect("a thread"));

/// A client that hands over for as long as the test takes: on a busy machine the usual 5 ms pass
/// although no caller is slow.
pub(crate) fn unhurried() -> Client {
    let settings = Settings::default()
        .node_timeout(SOON)
        .handover_time(Duration::from_secs(60 * 60));
    Client::with_settings(IO.environment(), settings)
}

/// A client whose node timeout is no part of the test: on a busy machine 50 ms pass without any
/// node being slow.
pub(crate) fn client() -> Client {
    client_with_timeout(SOON)
}

pub(crate) fn client_with_timeout(node_timeout: Duration) -> Client {
    let settings = Settings::default().node_timeout(node_timeout);
    Client::with_settings(IO.environment(), settings)
}

/// A client with the default node timeout, for tests in which it has to run out.
pub(crate) fn impatient() -> Client {
    Client::new(IO.environment())
}

/// Returns options that suspect no server for being slow: on a busy machine the usual times pass without any
/// fault.
pub(crate) fn calm() -> RedisOptions {
    RedisOptions::default()
        .connect_timeout(SOON)
        .suspect_after(SOON)
        .dead_after(SOON * 2)
}

/// Returns options for a node that sends nothing after its first check unless the test asks for it.
pub(crate) fn patient() -> RedisOptions {
    calm().heartbeat(SOON * 10)
}

/// A node for each URL, named a, b, c …, each connected or known not to be.
pub(crate) async fn connect(urls: impl IntoIterator<Item = String>) -> NodeSet {
    connect_with(urls, &patient()).await
}

pub(crate) async fn connect_with(
    urls: impl IntoIterator<Item = String>,
    options: &RedisOptions,
) -> NodeSet {
    connect_each(urls.into_iter().map(|url| (url, options.clone()))).await
}

/// The same with options of its own for each node.
pub(crate) async fn connect_each(
    nodes: impl IntoIterator<Item = (String, RedisOptions)>,
) -> NodeSet {
    let parsed = nodes.into_iter().map(|(url, options)| {
        let address = RedisAddress::parse(&url).expect("the harness makes good URLs");
        (address, options)
    });
    connect_to(parsed).await
}

/// Starts a node for each address, named a, b, c …, and waits until each is connected or known not to be.
pub(crate) async fn connect_to(
    nodes: impl IntoIterator<Item = (RedisAddress, RedisOptions)>,
) -> NodeSet {
    let named = nodes.into_iter().zip('a'..);
    let start = |((address, options), name): (_, char)| {
        RedisNode::start(name.to_string(), address, options, &IO)
    };
    let nodes: Vec<_> = named.map(start).collect();
    for node in &nodes {
        node.wait_until_settled().await;
    }
    let nodes = nodes.into_iter();
    nodes.map(|node| Arc::new(node) as Arc<dyn Node>).collect()
}

pub(crate) async fn start(n: usize) -> (Nodes, NodeSet) {
    let nodes = Nodes::start(n).await;
    let set = connect(nodes.urls()).await;
    (nodes, set)
}

/// One attempt, so that a refusal is an answer and not a wait.
pub(crate) fn once(resource: impl Into<Resource>) -> Request {
    Request::new(resource).retry_limit(0)
}

pub(crate) type Acquiring = Pin<Box<dyn Future<Output = Result<Lease, AcquireError>> + Send>>;

/// Has a caller stand in line.
pub(crate) fn stand_in_line(client: &Client, set: &NodeSet, request: &Request) -> Acquiring {
    let (client, set, request) = (client.clone(), set.clone(), request.clone());
    let mut acquiring: Acquiring = Box::pin(async move { client.acquire(&set, &request).await });
    let mut context = Context::from_waker(Waker::noop());
    assert!(acquiring.as_mut().poll(&mut context).is_pending());
    acquiring
}

/// Waits until every node has served all that was sent to it so far. An acquisition returns at a
/// majority: until then the rest of it may be on its way.
pub(crate) async fn settle(set: &NodeSet) {
    assert_eq!(client().flush(set, SOON).await, Vec::<String>::new());
}

/// Takes a lock and gives it back.
pub(crate) async fn lock_once(set: &NodeSet) {
    let lease = client().acquire(set, &once("r")).await.unwrap();
    assert_eq!(lease.release().await, Released::Confirmed);
}

/// Returns why the node votes no, if it does.
pub(crate) fn reason<N: Node + ?Sized>(node: &Arc<N>) -> Option<NodeError> {
    match node.status() {
        NodeStatus::Abstaining(reason) => Some(reason),
        _ => None,
    }
}

/// Waits until `node` votes, or votes no.
pub(crate) async fn until_voting<N: Node + ?Sized>(node: &Arc<N>, expected: bool) {
    let votes = || reason(node).map(|reason| reason.to_string());
    wait_until(node.name(), votes, |reason| reason.is_none() == expected).await;
}

/// Waits until `node` votes no for a reason that says `text`, and returns all that it says.
pub(crate) async fn until_abstaining<N: Node + ?Sized>(node: &Arc<N>, text: &str) -> String {
    let said = || reason(node).map(|reason| reason.to_string());
    let is_it = |said: &Option<String>| said.as_ref().is_some_and(|said| said.contains(text));
    let said = wait_until("a reason to vote no", said, is_it).await;
    said.unwrap_or_default()
}

/// Waits until the node votes over its connection with this number, so after the restart check of that connection.
pub(crate) async fn until_voting_again<N: Node + ?Sized>(node: &Arc<N>, connection: u64) {
    // The reason is read last: a connection that is counted is in quarantine until its restart check is answered.
    let seen = || (node.health().connections, reason(node));
    let votes =
        |(connections, reason): &(_, Option<_>)| *connections == connection && reason.is_none();
    wait_until("another connection", seen, votes).await;
}
