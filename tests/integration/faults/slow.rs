//! Nodes that answer late.

use std::time::Duration;

use redlock_core::Request;
use redlock_core::lease::Released;
use redlock_tests::{Proxy, RedisNode};

use crate::core::fixture::{SOON, client, once};
use crate::faults::scene::{
    Network, lock_everywhere, lock_extend_release, minority, soon, until_served, without_timeouts,
};

const SLOW: Duration = Duration::from_millis(20);
/// Longer than any test here takes: what completes did not wait for it.
const NEVER: Duration = Duration::from_secs(600);

async fn a_slow_minority_adds_nothing_not_even_for_many_callers_at_once(n: usize) {
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

async fn nodes_that_are_all_slow_by_20_ms_work_and_their_slowness_is_no_part_of_the_validity(
    n: usize,
) {
    let network = Network::start(n).await;
    network.proxies.iter().for_each(|proxy| proxy.delay(SLOW));
    for _ in 0..5 {
        let ttl = Duration::from_secs(60);
        let mut request = once("r").ttl(ttl);
        // The drift would hide it.
        request.clock_drift_factor = 0.0;
        let lease = client().acquire(&network.set, &request).await.unwrap();
        // There and back.
        assert!(lease.validity() <= ttl.saturating_sub(2 * SLOW));
        lease.extend(2 * ttl).await.unwrap();
        assert!(lease.validity() <= (2 * ttl).saturating_sub(2 * SLOW));
        assert!(lease.validity() > ttl);
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    until_served(&network.set).await;
    network.nodes.assert_no_keys(Duration::ZERO).await;
    network
        .proxies
        .iter()
        .for_each(|proxy: &Proxy| proxy.delay(Duration::ZERO));
    lock_extend_release(&network.set).await;
}

/// Shutdown ends the process once the flush is over.
async fn a_flush_waits_for_a_release_whose_script_has_to_be_sent_again(n: usize) {
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
    a_slow_minority_adds_nothing_not_even_for_many_callers_at_once,
    nodes_that_are_all_slow_by_20_ms_work_and_their_slowness_is_no_part_of_the_validity,
    a_flush_waits_for_a_release_whose_script_has_to_be_sent_again,
}
