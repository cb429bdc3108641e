//! A client of real nodes.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Waker};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::node::NodeStatus;
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::{Client, IoThread, Lease, Node, NodeSet, RedisNode, Request, Resource};
use redlock_tests::{Nodes, eventually};

/// How long a test waits for something that takes milliseconds, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// One I/O thread for all tests, as a process has one.
pub(crate) static IO: LazyLock<IoThread> = LazyLock::new(|| IoThread::start().expect("a thread"));

/// A client that hands over for as long as the test takes: on a busy machine the usual 5 ms pass
/// although no caller is slow.
pub(crate) fn unhurried() -> Client {
    let mut settings = redlock_core::Settings::default();
    settings.node_timeout = SOON;
    settings.handover_time = Duration::from_secs(60 * 60);
    Client::with_settings(IO.environment(), settings)
}

/// A client whose node timeout is no part of the test: on a busy machine 50 ms pass without any
/// node being slow.
pub(crate) fn client() -> Client {
    Client::with_settings(
        IO.environment(),
        redlock_core::Settings::default()
            .node_timeout(SOON)
            .key_prefix([]),
    )
}

/// A client with the default node timeout, for tests in which it has to run out.
pub(crate) fn impatient() -> Client {
    Client::new(IO.environment())
}

/// Options with which no node is suspected or given up for being slow: on a busy machine the usual
/// times pass without any fault. After its first check, such a node is sent nothing that the test did not ask for.
pub(crate) fn patient() -> RedisOptions {
    let mut options = RedisOptions::default();
    options.connect_timeout = SOON;
    options.suspect_after = SOON * 5;
    options.dead_after = SOON * 10;
    options.heartbeat = SOON * 10;
    options
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
    let nodes: Vec<Arc<RedisNode>> = nodes
        .into_iter()
        .zip('a'..)
        .map(|((url, options), name)| {
            let address = RedisAddress::parse(&url).expect("the harness makes good URLs");
            Arc::new(RedisNode::start(name.to_string(), address, options, &IO))
        })
        .collect();
    for node in &nodes {
        node.settled().await;
    }
    nodes
        .into_iter()
        .map(|node| node as Arc<dyn Node>)
        .collect()
}

pub(crate) async fn start(n: usize) -> (Nodes, NodeSet) {
    let nodes = Nodes::start(n).await;
    let set = connect(nodes.urls()).await;
    (nodes, set)
}

/// One attempt, so that a refusal is an answer and not a wait.
pub(crate) fn once(resource: impl Into<Resource>) -> Request {
    Request::new(resource).retries(0)
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

/// Waits until `node` votes, or abstains.
pub(crate) async fn until_voting(node: &Arc<dyn Node>, expected: bool) {
    eventually("the node's status", SOON, || async {
        match (node.status(), expected) {
            (NodeStatus::Voting, true) | (NodeStatus::Abstaining(_), false) => Ok(()),
            (status, _) => Err(format!("{} is {status:?}", node.name())),
        }
    })
    .await;
}

/// Waits until the node votes over its connection with this number, so after the restart check of that connection.
pub(crate) async fn until_voting_again(node: &Arc<dyn Node>, connection: u64) {
    eventually("another connection", SOON, || async {
        // The status is read last: a connection that is counted is in quarantine until its restart check is answered.
        match (node.health().connections, node.status()) {
            (connections, NodeStatus::Voting) if connections == connection => Ok(()),
            now => Err(format!("{} is {now:?}", node.name())),
        }
    })
    .await;
}
