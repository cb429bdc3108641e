//! Nodes that restart under a lease: without their data, and with it.

use std::time::Duration;

use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::Released;
use redlock_tests::{NodeOptions, Nodes};

use crate::core::fixture::{client, once, start};
use crate::faults::scene::{
    Network, extend_until_everywhere, lock_everywhere, majority, minority, soon, start_with,
    until_served, without_timeouts,
};

async fn restart(nodes: &Nodes, count: usize) {
    for node in nodes.iter().take(count) {
        node.restart().await;
    }
}

async fn a_minority_restarted_empty_under_a_lease_is_given_the_key_back_behind_the_proof_of_the_rest(
    n: usize,
) {
    let (nodes, set) = start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    let token = nodes[0].get("r");
    restart(&nodes, minority(n)).await;
    until_served(&set).await;
    assert_eq!(nodes[0].get("r"), None);
    let ttl = Duration::from_secs(120);
    extend_until_everywhere(&lease, &nodes, token.as_deref()).await;
    for node in &nodes {
        let left = node.pttl("r").left().unwrap();
        assert!(left > ttl / 2 + Duration::from_secs(1), "{node}: {left:?}");
    }
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

/// However often it is slower than the majority that decides an extension.
async fn a_restarted_node_that_is_slower_than_the_rest_is_given_the_key_back_too(n: usize) {
    let network = Network::start(n).await;
    let (nodes, set) = (&network.nodes, &network.set);
    let lease = lock_everywhere(&without_timeouts(), nodes, set).await;
    let token = nodes[0].get("r");
    network.proxies[0].delay(Duration::from_millis(20));
    nodes[0].restart().await;
    for _ in 0..5 {
        until_served(set).await;
        soon(lease.extend(Duration::from_secs(120))).await.unwrap();
    }
    // Its answers are in, and what follows from them is done.
    until_served(set).await;
    until_served(set).await;
    assert_eq!(nodes[0].get("r"), token);
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
}

async fn a_minority_restarted_empty_and_taken_by_another_stays_the_others(n: usize) {
    let (nodes, set) = start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    restart(&nodes, minority(n)).await;
    until_served(&set).await;
    for node in nodes.iter().take(minority(n)) {
        node.set("r", "someone", Some(Duration::from_secs(60)));
    }
    soon(lease.extend(Duration::from_secs(120))).await.unwrap();
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    until_served(&set).await;
    for node in nodes.iter().take(minority(n)) {
        assert_eq!(node.get("r").as_deref(), Some(&b"someone"[..]), "{node}");
        node.del("r");
    }
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn a_majority_restarted_empty_under_a_lease_ends_it_and_the_next_holder_is_left_alone(
    n: usize,
) {
    let (nodes, set) = start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    restart(&nodes, majority(n)).await;
    until_served(&set).await;
    let error = soon(lease.extend(Duration::from_secs(120))).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, ExtendError::Ended(LeaseEnd::Taken(_))),
        "{error}"
    );
    assert_eq!(lease.over(), Some(LeaseEnd::Taken(None)));
    assert_eq!(soon(lease.lost()).await, LeaseEnd::Taken(None));

    let next = client().acquire(&set, &once("r")).await.unwrap();
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    until_served(&set).await;
    let values = nodes.values_of("r");
    let (theirs, ours) = values.split_at(majority(n));
    assert!(theirs[0].is_some(), "{values:?}");
    assert!(theirs.iter().all(|value| *value == theirs[0]), "{values:?}");
    assert!(ours.iter().all(Option::is_none), "{values:?}");
    next.extend(Duration::from_secs(120)).await.unwrap();
    assert_eq!(next.release().await, Released::Confirmed);
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn nodes_that_write_to_disk_restart_under_a_lease_and_keep_it(n: usize) {
    let (nodes, set) = start_with(n, NodeOptions::default().append_only()).await;
    let lease = lock_everywhere(&without_timeouts(), &nodes, &set).await;
    let before = nodes.values_of("r");
    // Every one of them, one after the other: a rolling restart.
    restart(&nodes, n).await;
    until_served(&set).await;
    assert_eq!(nodes.values_of("r"), before);
    let refused = client().acquire(&set, &once("r")).await;
    assert!(refused.is_err(), "{refused:?}");
    let ttl = Duration::from_secs(120);
    soon(lease.extend(ttl)).await.unwrap();
    until_served(&set).await;
    for node in &nodes {
        let left = node.pttl("r").left().unwrap();
        assert!(left > ttl / 2 + Duration::from_secs(1), "{node}: {left:?}");
    }
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
    // What is on disk is the release, too.
    restart(&nodes, n).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

with_three_and_five_nodes! {
    a_minority_restarted_empty_under_a_lease_is_given_the_key_back_behind_the_proof_of_the_rest,
    a_restarted_node_that_is_slower_than_the_rest_is_given_the_key_back_too,
    a_minority_restarted_empty_and_taken_by_another_stays_the_others,
    a_majority_restarted_empty_under_a_lease_ends_it_and_the_next_holder_is_left_alone,
    nodes_that_write_to_disk_restart_under_a_lease_and_keep_it,
}
