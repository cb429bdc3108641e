//! Nodes whose wall clock jumps: they expire keys early, or late.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_core::error::{AcquireError, ExtendError, LeaseEnd};
use redlock_core::lease::Released;
use redlock_tests::{NodeOptions, Nodes};

use crate::core::fixture::{client, once};
use crate::faults::scene::{
    extend_until_everywhere, lock_everywhere, majority, minority, soon, start_with, until_served,
    without_timeouts,
};

/// Beyond the end of every lock here.
const FAR: Duration = Duration::from_secs(3600);

async fn start(n: usize) -> (Nodes, NodeSet) {
    start_with(n, NodeOptions::default().movable_clock()).await
}

async fn clocks_of_a_minority_that_jump_ahead_let_nobody_in(n: usize) {
    let (nodes, set) = start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    let token = nodes[0].get("r");
    for node in nodes.iter().take(minority(n)) {
        node.advance_clock(FAR);
        assert_eq!(node.get("r"), None, "{node}");
    }
    let refused = client().acquire(&set, &once("r")).await;
    assert!(
        matches!(refused, Err(AcquireError::Contended(_))),
        "{refused:?}"
    );
    until_served(&set).await;
    for node in nodes.iter().take(minority(n)) {
        assert_eq!(node.get("r"), None, "{node}");
    }
    // The rest still proves the lock, so it is put back where it went missing.
    extend_until_everywhere(&lease, &nodes, token.as_deref()).await;
    assert_eq!(lease.over(), None);
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

/// The assumption that the algorithm rests on, broken: a lock over nodes cannot notice it before it
/// asks them again.
async fn clocks_of_a_majority_that_jump_ahead_let_a_client_in(n: usize) {
    let (nodes, set) = start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    let early = majority(n);
    nodes
        .iter()
        .take(early)
        .for_each(|node| node.advance_clock(FAR));
    let other = client().acquire(&set, &once("r")).await.unwrap();
    assert_eq!(lease.over(), None, "two holders, and neither knows");
    assert_eq!(other.over(), None);

    // Asked again, the nodes say so.
    let error = soon(lease.extend(Duration::from_secs(120))).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, ExtendError::Ended(LeaseEnd::Taken(_))),
        "{error}"
    );
    let over = soon(lease.lost()).await;
    assert!(matches!(over, LeaseEnd::Taken(Some(_))), "{over}");
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    until_served(&set).await;
    let values = nodes.values_of("r");
    let (theirs, ours) = values.split_at(early);
    assert!(theirs.iter().all(Option::is_some), "{values:?}");
    assert!(ours.iter().all(Option::is_none), "{values:?}");
    other.extend(Duration::from_secs(120)).await.unwrap();
    assert_eq!(other.release().await, Released::Confirmed);
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn clocks_of_a_minority_that_are_set_back_keep_nobody_out(n: usize) {
    let (nodes, set) = start(n).await;
    for node in &nodes {
        node.set("r", "a dead holder's", Some(Duration::from_secs(60)));
    }
    for node in nodes.iter().take(minority(n)) {
        node.set_back_clock(FAR);
    }
    // Time passes: for the one part the lock is over, for the other it has hardly begun.
    for node in &nodes {
        node.advance_clock(Duration::from_secs(61));
    }
    let lease = soon(without_timeouts().acquire(&set, &once("r"))).await;
    assert_eq!(soon(lease.unwrap().release()).await, Released::Confirmed);
    until_served(&set).await;
    for node in nodes.iter().take(minority(n)) {
        let left = node.pttl("r").left().unwrap();
        assert!(left > FAR / 2, "{node}: {left:?}");
        node.del("r");
    }
    nodes.assert_no_keys(Duration::ZERO).await;
}

with_three_and_five_nodes! {
    clocks_of_a_minority_that_jump_ahead_let_nobody_in,
    clocks_of_a_majority_that_jump_ahead_let_a_client_in,
    clocks_of_a_minority_that_are_set_back_keep_nobody_out,
}
