//! Nodes that hang: they accept what is sent and never answer, until they do.

use std::time::Duration;

use redlock_core::error::ExtendError;
use redlock_core::lease::Released;
use redlock_core::{Client, NodeSet};
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::{SOON, connect_each, once, patient, start, until_voting};
use crate::core::still_clock::StillClock;
use crate::faults::scene::{
    after_the_node_timeout, lock_everywhere, lock_extend_release, majority, minority, part,
    refused_by_silence, soon, unavailable, until_served, without_timeouts,
};

fn freeze(nodes: &Nodes, count: usize) {
    nodes.iter().take(count).for_each(RedisNode::freeze);
}

/// Connects to nodes, the first `frozen` of which are frozen. These have a short timeout, by which the
/// client notices them. The others have all the time that they need.
async fn connect_to_frozen(nodes: &Nodes, frozen: usize) -> NodeSet {
    let urls = nodes.urls().into_iter().enumerate();
    connect_each(urls.map(|(seat, url)| {
        let mut options = patient();
        if seat < frozen {
            options.connect_timeout = Duration::from_secs(1);
        }
        (url, options)
    }))
    .await
}

/// What was sent to the frozen nodes lands now, and undoes itself.
async fn thaw_and_find_nothing(nodes: &Nodes, set: &NodeSet) {
    nodes.assert_no_keys(SOON).await;
    nodes.iter().for_each(RedisNode::thaw);
    until_served(set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn a_minority_frozen_before_the_first_connection_is_not_waited_for(n: usize) {
    let nodes = Nodes::start(n).await;
    freeze(&nodes, minority(n));
    let set = connect_to_frozen(&nodes, minority(n)).await;
    for _ in 0..3 {
        lock_extend_release(&set).await;
    }
    thaw_and_find_nothing(&nodes, &set).await;
    for node in set.iter() {
        until_voting(node, true).await;
    }
}

async fn a_minority_that_freezes_is_not_waited_for_and_undoes_its_late_votes(n: usize) {
    let (nodes, set) = start(n).await;
    freeze(&nodes, minority(n));
    for _ in 0..20 {
        lock_extend_release(&set).await;
    }
    thaw_and_find_nothing(&nodes, &set).await;
}

async fn a_frozen_majority_is_unavailable_at_the_node_timeout_and_its_late_votes_are_undone(
    n: usize,
) {
    let (nodes, set) = start(n).await;
    freeze(&nodes, majority(n));
    let error = refused_by_silence(&nodes, &set, majority(n)).await;
    let text = error.to_string();
    for name in ["a", "b", "c"].iter().take(majority(n)) {
        let reason = format!("{name}: no answer in 50 ms");
        assert!(text.contains(&reason), "{text}");
    }
    thaw_and_find_nothing(&nodes, &set).await;
    lock_extend_release(&set).await;
}

async fn a_majority_frozen_before_the_first_connection_is_unavailable_at_once(n: usize) {
    let nodes = Nodes::start(n).await;
    freeze(&nodes, majority(n));
    let set = connect_to_frozen(&nodes, majority(n)).await;
    let refused = soon(without_timeouts().acquire(&set, &once("r"))).await;
    let error = unavailable(refused.unwrap_err());
    assert_eq!(error.granted, minority(n), "{error}");
    thaw_and_find_nothing(&nodes, &set).await;
    lock_extend_release(&set).await;
}

async fn a_majority_that_freezes_under_a_lease_leaves_the_old_deadline_standing(n: usize) {
    let (nodes, set) = start(n).await;
    let clock = StillClock::default();
    let client = Client::new(clock.environment());
    let lease = lock_everywhere(&client, &nodes, &set).await;
    let before = lease.validity();
    freeze(&nodes, majority(n));
    let healthy = part(&set, majority(n)..n);
    let ttl = Duration::from_secs(120);
    let extended = after_the_node_timeout(&clock, &healthy, lease.extend(ttl)).await;
    let error = extended.unwrap_err();
    assert!(matches!(error, ExtendError::Unavailable(_)), "{error}");
    assert_eq!(lease.over(), None);
    assert_eq!(
        lease.validity(),
        before.saturating_sub(Duration::from_millis(50))
    );
    // The same question later is another try.
    nodes.iter().for_each(RedisNode::thaw);
    until_served(&set).await;
    soon(lease.extend(ttl)).await.unwrap();
    assert!(lease.validity() > before);

    freeze(&nodes, majority(n));
    let released = after_the_node_timeout(&clock, &healthy, lease.release()).await;
    assert_eq!(released, Released::Unconfirmed);
    thaw_and_find_nothing(&nodes, &set).await;
}

with_three_and_five_nodes! {
    a_minority_frozen_before_the_first_connection_is_not_waited_for,
    a_minority_that_freezes_is_not_waited_for_and_undoes_its_late_votes,
    a_frozen_majority_is_unavailable_at_the_node_timeout_and_its_late_votes_are_undone,
    a_majority_frozen_before_the_first_connection_is_unavailable_at_once,
    a_majority_that_freezes_under_a_lease_leaves_the_old_deadline_standing,
}
