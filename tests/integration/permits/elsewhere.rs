//! What goes wrong with semaphores of other libraries.

use std::time::Duration;

use redlock_core::Client;
use redlock_core::request::RetryLimit;
use redlock_tests::{NodeOptions, Nodes};

use super::{held_at, one_of};
use crate::core::fixture::{SOON, client, connect, settle, start};
use crate::core::still_clock::StillClock;

#[tokio::test]
async fn permits_leaked_by_a_crashed_holder_come_back_at_their_ttl() {
    let (nodes, set) = start(3).await;
    let client = client();
    let mut short = one_of(2);
    short.ttl = Duration::from_millis(300);
    for _ in 0..2 {
        // Nothing is sent any more: as if the process had been killed.
        std::mem::forget(client.acquire(&set, &short).await.unwrap());
    }
    let mut waiting = one_of(2);
    waiting.retry.limit = RetryLimit::Wait(SOON);
    for _ in 0..2 {
        drop(client.acquire(&set, &waiting).await.unwrap());
    }
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn expired_permits_are_counted_by_the_nodes_clock_and_not_by_a_clients() {
    let (nodes, set) = start(3).await;
    let held = client().acquire(&set, &one_of(2)).await.unwrap();
    // A client whose clocks are days ahead sweeps nothing.
    let clock = StillClock::default();
    clock.advance(Duration::from_secs(10 * 24 * 60 * 60));
    let ahead = Client::new(clock.environment());
    let other = ahead.acquire(&set, &one_of(2)).await.unwrap();
    assert_ne!(other.permit(), held.permit());
    settle(&set).await;
    let mut request = one_of(2);
    request.retry.limit = RetryLimit::Count(0);
    assert!(client().acquire(&set, &request).await.is_err());
    assert_eq!(held_at(&nodes[0]), [0, 1]);
}

#[tokio::test]
async fn permits_are_right_after_the_release_of_an_expired_one() {
    let nodes = Nodes::start_with(3, NodeOptions::default().movable_clock()).await;
    let set = connect(nodes.urls()).await;
    let client = client();
    let late = client.acquire(&set, &one_of(2)).await.unwrap();
    let first = client.acquire(&set, &one_of(2)).await.unwrap();
    settle(&set).await;
    // The nodes forget both at their ttl; two others come.
    for node in &nodes {
        node.advance_clock(Duration::from_secs(120));
    }
    let held = [
        client.acquire(&set, &one_of(2)).await.unwrap(),
        client.acquire(&set, &one_of(2)).await.unwrap(),
    ];
    // Their holders release what they no longer have.
    late.release().await;
    first.release().await;
    settle(&set).await;
    assert_eq!(
        held_at(&nodes[0]),
        [0, 1],
        "nobody else's permit was given back"
    );
    assert!(client.acquire(&set, &one_of(2)).await.is_err());
    drop(held);
}
