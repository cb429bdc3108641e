//! What several of the tests set up, do and wait for.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use redlock_core::error::{AcquireError, Unavailable};
use redlock_core::lease::Released;
use redlock_core::node::Vote;
use redlock_core::testing::{ask, peek};
use redlock_core::{Client, Lease, NodeSet};
use redlock_tests::{NodeOptions, Nodes, Proxy, eventually};
use tokio::time::timeout;

use crate::core::fixture::{SOON, client, connect, once};
use crate::core::still_clock::StillClock;

/// How many of `n` nodes it takes. Not the library's own word for it: that is under test.
pub(crate) fn majority(n: usize) -> usize {
    n / 2 + 1
}

/// How many of `n` nodes may fail.
pub(crate) fn minority(n: usize) -> usize {
    n - majority(n)
}

pub(crate) async fn start_with(n: usize, options: NodeOptions) -> (Nodes, NodeSet) {
    let nodes = Nodes::start_with(n, options).await;
    let set = connect(nodes.urls()).await;
    (nodes, set)
}

/// Nodes, each behind a proxy of its own.
pub(crate) struct Network {
    pub(crate) nodes: Nodes,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) set: NodeSet,
}

impl Network {
    pub(crate) async fn start(n: usize) -> Self {
        let nodes = Nodes::start(n).await;
        let (proxies, set) = Self::to(&nodes).await;
        Self {
            nodes,
            proxies,
            set,
        }
    }

    /// Another way to the same nodes.
    pub(crate) async fn to(nodes: &Nodes) -> (Vec<Proxy>, NodeSet) {
        let mut proxies = Vec::new();
        for node in nodes {
            proxies.push(Proxy::start(node).await);
        }
        let set = connect(proxies.iter().map(Proxy::url)).await;
        (proxies, set)
    }
}

/// A client on whose clock no timeout ever passes.
pub(crate) fn without_timeouts() -> Client {
    Client::new(StillClock::default().environment())
}

/// What is awaited here has to complete on its own: this bound is the test's, and it fails.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(SOON, what).await;
    done.expect("it waits for a timeout, on a clock that stands still")
}

/// Polls once; whether the future has to wait.
pub(crate) async fn is_pending<F: Future>(future: &mut Pin<Box<F>>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

/// Takes the lock, extends it and gives it back, which needs no timeout.
pub(crate) async fn lock_extend_release(set: &NodeSet) {
    soon(async {
        let client = without_timeouts();
        let lease = client.acquire(set, &once("r")).await.unwrap();
        lease.extend(Duration::from_secs(120)).await.unwrap();
        assert_eq!(lease.release().await, Released::Confirmed);
    })
    .await;
}

/// Takes the lock and waits until it is on every node.
pub(crate) async fn lock_everywhere(client: &Client, nodes: &Nodes, set: &NodeSet) -> Lease {
    let lease = soon(client.acquire(set, &once("r"))).await.unwrap();
    until_served(set).await;
    let values = nodes.values_of("r");
    assert!(
        values[0].is_some() && values.iter().all(|value| *value == values[0]),
        "{values:?}"
    );
    lease
}

/// Extends a lease until the lock is on every node again. An extension puts it back where it hears
/// in time that it is gone, so it may take several.
pub(crate) async fn extend_until_everywhere(lease: &Lease, nodes: &Nodes, token: Option<&[u8]>) {
    eventually("the lock on every node", SOON, async || {
        soon(lease.extend(Duration::from_secs(120))).await.unwrap();
        let values = nodes.values_of("r");
        let is_everywhere = values.iter().all(|value| value.as_deref() == token);
        is_everywhere.then_some(()).ok_or(format!("{values:?}"))
    })
    .await;
}

/// Waits until every node answers, and has served all that was sent to it so far. What is owed from before a
/// connection broke goes out first on the next one, so that is served as well.
pub(crate) async fn until_served(set: &NodeSet) {
    let client = client();
    eventually("every node to serve what it was sent", SOON, async || {
        for node in set.iter() {
            // A node that has not noticed a broken connection yet is drained, and votes.
            let vote = timeout(SOON, ask(&**node, peek(&"served".into()))).await;
            if !matches!(vote, Ok(Vote::Absent)) {
                return Err(format!("{}: {vote:?}", node.name()));
            }
        }
        let unserved = client.flush(set, SOON).await;
        if unserved.is_empty() {
            Ok(())
        } else {
            Err(format!("not yet: {unserved:?}"))
        }
    })
    .await;
}

pub(crate) fn unavailable(error: AcquireError) -> Unavailable {
    match error {
        AcquireError::Unavailable(unavailable) => unavailable,
        other => panic!("{other}"),
    }
}
