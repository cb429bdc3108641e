//! A network that swallows what is sent, one way: requests never arrive, or answers never do.

use std::time::Duration;

use redlock_core::Client;
use redlock_core::error::ExtendError;
use redlock_core::lease::Released;
use redlock_tests::Proxy;

use crate::core::still_clock::StillClock;
use crate::faults::scene::{
    Network, after_the_node_timeout, lock_everywhere, lock_extend_release, majority, part,
    refused_by_silence, soon, until_served, without_timeouts,
};

type Cut = fn(&Proxy);

async fn back_again_and_nothing_left(network: &Network) {
    network.restore().await;
    until_served(&network.set).await;
    network.nodes.assert_no_keys(Duration::ZERO).await;
    lock_extend_release(&network.set).await;
}

async fn one_node_is_cut_off(n: usize, cut: Cut) {
    let network = Network::start(n).await;
    let lease = lock_everywhere(&without_timeouts(), &network.nodes, &network.set).await;
    cut(&network.proxies[0]);
    soon(lease.extend(Duration::from_secs(120))).await.unwrap();
    assert_eq!(soon(lease.release()).await, Released::Confirmed);
    for _ in 0..10 {
        lock_extend_release(&network.set).await;
    }
    back_again_and_nothing_left(&network).await;
}

async fn one_node_whose_requests_are_lost_has_no_effect(n: usize) {
    one_node_is_cut_off(n, Proxy::swallow_to_server).await;
}

async fn one_node_whose_answers_are_lost_has_no_effect(n: usize) {
    one_node_is_cut_off(n, Proxy::swallow_to_client).await;
}

async fn a_majority_is_cut_off(n: usize, cut: Cut) {
    let network = Network::start(n).await;
    network.proxies.iter().take(majority(n)).for_each(cut);
    refused_by_silence(&network.nodes, &network.set, majority(n)).await;
    back_again_and_nothing_left(&network).await;
}

async fn a_majority_whose_requests_are_lost_is_unavailable_and_left_empty(n: usize) {
    a_majority_is_cut_off(n, Proxy::swallow_to_server).await;
}

async fn a_majority_whose_answers_are_lost_is_unavailable_and_left_empty(n: usize) {
    a_majority_is_cut_off(n, Proxy::swallow_to_client).await;
}

async fn a_majority_is_cut_off_under_a_lease(n: usize, cut: Cut) {
    let network = Network::start(n).await;
    let clock = StillClock::default();
    let client = Client::new(clock.environment());
    let lease = lock_everywhere(&client, &network.nodes, &network.set).await;
    network.proxies.iter().take(majority(n)).for_each(cut);
    let healthy = part(&network.set, majority(n)..n);
    let ttl = Duration::from_secs(120);
    let extended = after_the_node_timeout(&clock, &healthy, lease.extend(ttl)).await;
    let error = extended.unwrap_err();
    assert!(matches!(error, ExtendError::Unavailable(_)), "{error}");
    assert_eq!(lease.over(), None);
    // The keys lived on behind the cut, so once it is mended the lease is as good as ever.
    network.restore().await;
    until_served(&network.set).await;
    soon(lease.extend(ttl)).await.unwrap();
    assert!(lease.validity() > Duration::from_secs(60));

    network.proxies.iter().take(majority(n)).for_each(cut);
    let released = after_the_node_timeout(&clock, &healthy, lease.release()).await;
    assert_eq!(released, Released::Unconfirmed);
    back_again_and_nothing_left(&network).await;
}

async fn a_lease_outlives_a_while_in_which_requests_to_a_majority_are_lost(n: usize) {
    a_majority_is_cut_off_under_a_lease(n, Proxy::swallow_to_server).await;
}

async fn a_lease_outlives_a_while_in_which_answers_of_a_majority_are_lost(n: usize) {
    a_majority_is_cut_off_under_a_lease(n, Proxy::swallow_to_client).await;
}

with_three_and_five_nodes! {
    one_node_whose_requests_are_lost_has_no_effect,
    one_node_whose_answers_are_lost_has_no_effect,
    a_majority_whose_requests_are_lost_is_unavailable_and_left_empty,
    a_majority_whose_answers_are_lost_is_unavailable_and_left_empty,
    a_lease_outlives_a_while_in_which_requests_to_a_majority_are_lost,
    a_lease_outlives_a_while_in_which_answers_of_a_majority_are_lost,
}
