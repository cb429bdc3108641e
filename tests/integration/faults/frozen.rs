//! Nodes that hang: they accept what is sent and never answer, until they do.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::{SOON, connect_each, once, patient, start, until_voting};
use crate::faults::scene::{
    lock_extend_release, majority, minority, soon, unavailable, until_served, without_timeouts,
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
            options = options.connect_timeout(Duration::from_secs(1));
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

async fn a_minority_frozen_from_the_beginning_is_not_waited_for(n: usize) {
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

async fn a_minority_that_freezes_is_not_waited_for(n: usize) {
    let (nodes, set) = start(n).await;
    freeze(&nodes, minority(n));
    for _ in 0..20 {
        lock_extend_release(&set).await;
    }
    thaw_and_find_nothing(&nodes, &set).await;
}

async fn a_majority_frozen_from_the_beginning_is_unavailable_at_once(n: usize) {
    let nodes = Nodes::start(n).await;
    freeze(&nodes, majority(n));
    let set = connect_to_frozen(&nodes, majority(n)).await;
    let refused = soon(without_timeouts().acquire(&set, &once("r"))).await;
    let error = unavailable(refused.unwrap_err());
    assert_eq!(error.granted, minority(n), "{error}");
    thaw_and_find_nothing(&nodes, &set).await;
    lock_extend_release(&set).await;
}

with_three_and_five_nodes! {
    a_minority_frozen_from_the_beginning_is_not_waited_for,
    a_minority_that_freezes_is_not_waited_for,
    a_majority_frozen_from_the_beginning_is_unavailable_at_once,
}
