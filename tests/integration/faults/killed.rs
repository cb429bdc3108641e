//! Nodes that are down: they refuse connections.

use std::time::Duration;

use redlock_core::error::{ExtendError, NodeOutcome};
use redlock_core::lease::Released;
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::{SOON, connect, once, start, until_voting};
use crate::faults::scene::{
    lock_everywhere, lock_extend_release, majority, minority, soon, unavailable, without_timeouts,
};

fn kill(nodes: &Nodes, count: usize) {
    nodes.iter().take(count).for_each(RedisNode::kill);
}

async fn a_minority_killed_before_the_first_connection_changes_nothing(n: usize) {
    let nodes = Nodes::start(n).await;
    kill(&nodes, minority(n));
    let set = connect(nodes.urls()).await;
    for _ in 0..3 {
        lock_extend_release(&set).await;
    }
    nodes.assert_no_keys(SOON).await;
}

async fn a_minority_killed_under_a_lease_changes_nothing(n: usize) {
    let (nodes, set) = start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    kill(&nodes, minority(n));
    soon(lease.extend(Duration::from_secs(120))).await.unwrap();
    assert!(lease.validity() > Duration::from_secs(60));
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    lock_extend_release(&set).await;
    nodes.assert_no_keys(SOON).await;
}

async fn a_killed_majority_is_unavailable_at_once_names_each_reason_and_leaves_no_key(n: usize) {
    let (nodes, set) = start(n).await;
    kill(&nodes, majority(n));
    for node in set.iter().take(majority(n)) {
        until_voting(node, false).await;
    }
    let refused = soon(without_timeouts().acquire(&set, &once("r"))).await;
    let error = unavailable(refused.unwrap_err());
    let text = error.to_string();
    let (granted, needed) = (minority(n), majority(n));
    let head = format!("{granted} of {n} nodes voted, {needed} needed; a: ");
    assert!(text.starts_with(&head), "{text}");
    assert_eq!(error.nodes.len(), needed, "{text}");
    for (node, name) in error.nodes.iter().zip(["a", "b", "c"]) {
        assert_eq!(&*node.name, name);
        assert!(matches!(node.outcome, NodeOutcome::Failed(_)), "{text}");
    }
    // The nodes that granted have undone it by now.
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn a_majority_killed_under_a_lease_leaves_the_old_deadline_standing(n: usize) {
    let (nodes, set) = start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    let before = lease.validity();
    kill(&nodes, majority(n));
    let error = soon(lease.extend(Duration::from_secs(120))).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ExtendError::Unavailable(_)), "{error}");
    assert_eq!(lease.over(), None);
    assert_eq!(lease.validity(), before);
    // Nobody can confirm it, and no timeout is needed to know that.
    assert_eq!(soon(lease.release()).await, Released::Unconfirmed);
    nodes.assert_no_keys(SOON).await;
}

with_three_and_five_nodes! {
    a_minority_killed_before_the_first_connection_changes_nothing,
    a_minority_killed_under_a_lease_changes_nothing,
    a_killed_majority_is_unavailable_at_once_names_each_reason_and_leaves_no_key,
    a_majority_killed_under_a_lease_leaves_the_old_deadline_standing,
}
