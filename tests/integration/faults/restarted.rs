//! A node that restarts empty under a lease and is slower than the others.

use std::time::Duration;

use redlock_core::lease::Released;

use crate::faults::scene::{Network, lock_everywhere, soon, until_served, without_timeouts};

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

with_three_and_five_nodes! {
    a_restarted_node_that_is_slower_than_the_rest_is_given_the_key_back_too,
}
