//! Nodes that answer late.

use std::time::Duration;

use redlock_core::Request;
use redlock_core::lease::Released;
use redlock_tests::RedisNode;

use crate::core::fixture::{SOON, client};
use crate::faults::scene::{
    Network, lock_everywhere, minority, soon, until_served, without_timeouts,
};
/// Longer than any test here takes: what completes did not wait for it.
const NEVER: Duration = Duration::from_secs(600);

async fn a_slow_minority_adds_nothing_even_for_many_callers_at_once(n: usize) {
    let network = Network::start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &network.nodes, &network.set).await;
    // So the slow ones have the key still when all is done.
    soon(lease.extend(NEVER)).await.unwrap();
    until_served(&network.set).await;
    for proxy in network.proxies.iter().take(minority(n)) {
        proxy.delay(NEVER);
    }
    soon(lease.extend(Duration::from_secs(120))).await.unwrap();
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    let callers: Vec<_> = (0..100)
        .map(|caller| {
            let set = network.set.clone();
            tokio::spawn(async move {
                let request = Request::new(format!("r{caller}"));
                for _ in 0..5 {
                    let acquired = soon(without_timeouts().acquire(&set, &request)).await;
                    let released = soon(acquired.unwrap().release()).await;
                    assert_eq!(released, Released::Confirmed);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    for node in network.nodes.iter().take(minority(n)) {
        assert!(node.get("r").is_some(), "{node} has heard of the release");
    }
    // On the next connection the slow ones hear what they missed.
    for proxy in &network.proxies {
        proxy.restore().await;
        proxy.sever().await;
    }
    until_served(&network.set).await;
    network.nodes.assert_no_keys(Duration::ZERO).await;
}

/// Shutdown ends the process once the flush is over.
async fn a_flush_waits_for_a_release_that_has_to_be_sent_again(n: usize) {
    let network = Network::start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &network.nodes, &network.set).await;
    network.nodes.iter().for_each(RedisNode::script_flush);
    // What is sent again arrives so much later than it was found out.
    let late = Duration::from_secs(1);
    network.proxies.iter().for_each(|proxy| proxy.delay(late));
    drop(lease);
    let unserved = client().flush(&network.set, SOON).await;
    assert!(unserved.is_empty(), "{unserved:?}");
    network.nodes.assert_no_keys(Duration::ZERO).await;
}

with_three_and_five_nodes! {
    a_slow_minority_adds_nothing_even_for_many_callers_at_once,
    a_flush_waits_for_a_release_that_has_to_be_sent_again,
}
