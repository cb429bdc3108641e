//! Nodes that are dead, empty or late, and callers that go away.

use std::time::Duration;

use redlock_core::request::RetryLimit;
use redlock_tests::drop_after;

use super::{held_at, key, one_of};
use crate::core::fixture::{SOON, client, impatient, settle, start};

#[tokio::test]
async fn one_node_dead_and_another_one_that_lacks_entries_grant_the_last_permit() {
    let (nodes, set) = start(3).await;
    nodes[0].kill();
    for permit in (0..8).filter(|permit| *permit != 5) {
        nodes[1].set(key(permit), "someone", Some(SOON));
    }
    let client = impatient();
    let mut request = one_of(8);
    request.retry.limit = RetryLimit::Wait(SOON);
    request.retry.delay = Duration::from_millis(1);
    for _ in 0..5 {
        let lease = client.acquire(&set, &request).await.unwrap();
        assert_eq!(lease.permit(), Some(5), "no other one has a majority");
        lease.release().await;
    }
    settle_two(&nodes).await;
    assert!(
        !held_at(&nodes[2]).contains(&5),
        "and nothing is left of the attempts"
    );
    assert_eq!(held_at(&nodes[2]), Vec::<u16>::new());
}

/// Waits until the release of the last permit has arrived.
async fn settle_two(nodes: &redlock_tests::Nodes) {
    redlock_tests::eventually("an empty node", SOON, || async {
        let held = held_at(&nodes[2]);
        if held.is_empty() {
            Ok(())
        } else {
            Err(format!("{held:?}"))
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_that_answers_late_keeps_nothing_but_what_was_won() {
    let (nodes, set) = start(3).await;
    // The third node would grant another permit than the rest.
    nodes[2].set(key(1), "someone", Some(SOON));
    nodes[2].freeze();
    let client = client();
    let mut leases = Vec::new();
    for _ in 0..3 {
        leases.push(client.acquire(&set, &one_of(3)).await.unwrap());
    }
    nodes[2].thaw();
    settle(&set).await;
    assert_eq!(held_at(&nodes[0]), [0, 1, 2]);
    let there = held_at(&nodes[2]);
    for permit in &there {
        let (here, late) = (nodes[0].get(key(*permit)), nodes[2].get(key(*permit)));
        assert!(*permit == 1 || here == late, "permit {permit}");
    }
    drop(leases);
    nodes
        .assert_no_keys_but(SOON, |name| {
            name == key(1).as_bytes() || name == b"redlock:permits:{r}"
        })
        .await;
}

#[tokio::test]
async fn a_caller_that_is_dropped_at_any_await_leaves_no_permit() {
    let (nodes, set) = start(3).await;
    let client = client();
    let held = client.acquire(&set, &one_of(2)).await.unwrap();
    let mut request = one_of(2);
    request.fencing = true;
    request.retry.limit = RetryLimit::Forever;
    for polls in 0..6 {
        let acquired = drop_after(polls, client.acquire(&set, &request)).await;
        drop(acquired);
        settle(&set).await;
        assert_eq!(held_at(&nodes[0]).len(), 1, "after {polls} polls");
    }
    let other = client.acquire(&set, &one_of(2)).await.unwrap();
    for polls in 0..6 {
        // It pauses behind a refusal.
        assert!(
            drop_after(polls, client.acquire(&set, &request))
                .await
                .is_none()
        );
        settle(&set).await;
    }
    drop((held, other));
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_release_that_is_dropped_at_its_first_await_has_freed_the_permit() {
    let (nodes, set) = start(3).await;
    let client = client();
    for polls in 0..2 {
        let lease = client.acquire(&set, &one_of(4)).await.unwrap();
        drop_after(polls, lease.release()).await;
        nodes.assert_no_lock_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    let (nodes, set) = start(3).await;
    let client = client();
    for _ in 0..3 {
        nodes
            .iter()
            .for_each(redlock_tests::RedisNode::script_flush);
        let lease = client.acquire(&set, &one_of(4)).await.unwrap();
        nodes
            .iter()
            .for_each(redlock_tests::RedisNode::script_flush);
        lease.release().await;
    }
    nodes.assert_no_lock_keys(SOON).await;
}
