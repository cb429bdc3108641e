//! A client that does not run between its request and the replies.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use redlock_core::error::{AcquireError, TooLate};
use redlock_core::{Client, Lease, MemoryNode, Node, NodeSet};

use crate::core::fixture::once;
use crate::core::still_clock::StillClock;

/// Acquires with a ttl of 30 s while the process stands still for `pause` before the votes are
/// read.
async fn acquire_with(pause: Duration) -> Result<Lease, AcquireError> {
    let clock = StillClock::default();
    let nodes = ["a", "b", "c"].map(|name| MemoryNode::new(name, Arc::new(clock.clone())));
    nodes.iter().for_each(MemoryNode::hang);
    let set = nodes.iter().cloned();
    let set: NodeSet = set.map(|node| Arc::new(node) as Arc<dyn Node>).collect();
    let client = Client::new(clock.environment());
    let request = once("r").ttl(Duration::from_secs(30));
    let mut acquiring = Box::pin(client.acquire(&set, &request));
    let is_done = poll_fn(|context| Poll::Ready(acquiring.as_mut().poll(context).is_ready())).await;
    assert!(!is_done);
    clock.jump(pause);
    nodes.iter().for_each(MemoryNode::restore);
    acquiring.await
}

#[tokio::test]
async fn votes_read_in_time_are_a_lease() {
    let lease = acquire_with(Duration::from_millis(10)).await.unwrap();
    // 30 s less 1 % and 2 ms of drift, less what has passed since before the request.
    assert_eq!(
        lease.validity(),
        Duration::from_millis(30_000 - 300 - 2 - 10)
    );
}

#[tokio::test]
async fn votes_read_after_the_ttl_are_none() {
    let error = acquire_with(Duration::from_secs(30)).await.unwrap_err();
    let AcquireError::Unavailable(unavailable) = error else {
        panic!("{error}")
    };
    let left = TooLate::Validity(Duration::ZERO);
    assert_eq!(unavailable.too_late, Some(left), "{unavailable}");
}
