//! Nodes that are held by others: every combination of them, and even splits.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_core::error::AcquireError;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, Proxy};

use crate::core::fixture::{SOON, client, once, start};
use crate::faults::scene::{Network, is_pending, part, soon, until_served, without_timeouts};

/// The binary number `held` says which nodes another client holds.
async fn one_combination(nodes: &Nodes, set: &NodeSet, held: u32) {
    let n = nodes.len();
    let foreign: Vec<_> = (0..n)
        .map(|seat| (held & (1 << seat) != 0).then(|| format!("holder {seat}").into_bytes()))
        .collect();
    for (node, value) in nodes.iter().zip(&foreign) {
        if let Some(value) = value {
            node.set("r", value, Some(Duration::from_secs(60)));
        }
    }
    let free = n - held.count_ones() as usize;
    let outcome = soon(without_timeouts().acquire(set, &once("r"))).await;
    assert_eq!(
        outcome.is_ok(),
        free > n / 2,
        "{held:0n$b} of {n}: {outcome:?}"
    );
    match outcome {
        Ok(lease) => {
            soon(lease.release()).await;
        }
        Err(error) => assert!(matches!(error, AcquireError::Contended(_)), "{error}"),
    }
    until_served(set).await;
    assert_eq!(nodes.values_of("r"), foreign, "{held:0n$b} of {n}");
    nodes.iter().for_each(redlock_tests::RedisNode::flushall);
}

async fn a_lock_is_acquired_exactly_when_a_majority_is_free_and_others_keep_theirs(n: usize) {
    let (nodes, set) = start(n).await;
    for held in 0..1 << n {
        one_combination(&nodes, &set, held).await;
    }
}

with_three_and_five_nodes! {
    a_lock_is_acquired_exactly_when_a_majority_is_free_and_others_keep_theirs,
}

#[tokio::test]
async fn an_even_number_of_nodes_needs_more_than_half_of_them() {
    a_lock_is_acquired_exactly_when_a_majority_is_free_and_others_keep_theirs(4).await;
}

/// Two clients. Each reaches one half of the nodes before the other client does.
struct Split {
    nodes: Nodes,
    one: (Vec<Proxy>, NodeSet),
    other: (Vec<Proxy>, NodeSet),
}

impl Split {
    async fn start(n: usize) -> Self {
        let nodes = Nodes::start(n).await;
        let one = Network::to(&nodes).await;
        let other = Network::to(&nodes).await;
        Self { nodes, one, other }
    }

    /// What is sent from here on reaches the own half only.
    fn divide(&self) {
        let half = self.nodes.len() / 2;
        self.one.0[half..].iter().for_each(Proxy::hold_to_server);
        self.other.0[..half].iter().for_each(Proxy::hold_to_server);
    }

    /// Waits until each client has won its half, and then until each has heard that the other half
    /// is taken. Neither client runs meanwhile, so neither gives its half back.
    async fn let_both_be_refused(&self) {
        let n = self.nodes.len();
        until_served(&part(&self.one.1, 0..n / 2)).await;
        until_served(&part(&self.other.1, n / 2..n)).await;
        let values = self.nodes.values_of("r");
        let (one, other) = values.split_at(n / 2);
        assert!(one[0].is_some() && one.iter().all(|value| *value == one[0]));
        assert!(other[0].is_some() && other.iter().all(|value| *value == other[0]));
        assert_ne!(one[0], other[0]);
        for proxy in self.one.0.iter().chain(&self.other.0) {
            proxy.restore().await;
        }
        until_served(&self.one.1).await;
        until_served(&self.other.1).await;
        assert_eq!(self.nodes.values_of("r"), values);
    }

    async fn nothing_is_left(&self) {
        until_served(&self.one.1).await;
        until_served(&self.other.1).await;
        self.nodes.assert_no_keys(Duration::ZERO).await;
    }
}

async fn both_sides_of_an_even_split_are_refused_at_once(n: usize) {
    let split = Split::start(n).await;
    let (one, other, request) = (without_timeouts(), without_timeouts(), once("r"));
    split.divide();
    let mut one = Box::pin(one.acquire(&split.one.1, &request));
    let mut other = Box::pin(other.acquire(&split.other.1, &request));
    assert!(is_pending(&mut one).await && is_pending(&mut other).await);
    split.let_both_be_refused().await;
    for attempt in [one, other] {
        let error = soon(attempt).await.unwrap_err();
        assert!(matches!(error, AcquireError::Contended(_)), "{error}");
    }
    split.nothing_is_left().await;
}

async fn an_even_split_is_settled_by_retry(n: usize) {
    let split = Split::start(n).await;
    for _ in 0..5 {
        let client = client();
        let mut request = once("r");
        request.retry.limit = RetryLimit::Wait(SOON * 3);
        request.retry.delay = Duration::from_millis(10);
        split.divide();
        let mut one = Box::pin(client.acquire(&split.one.1, &request));
        let mut other = Box::pin(client.acquire(&split.other.1, &request));
        assert!(is_pending(&mut one).await && is_pending(&mut other).await);
        split.let_both_be_refused().await;
        tokio::join!(async { one.await.unwrap().release().await }, async {
            other.await.unwrap().release().await
        },);
        split.nothing_is_left().await;
    }
}

#[tokio::test]
async fn both_sides_of_a_split_of_four_nodes_are_refused_at_once() {
    both_sides_of_an_even_split_are_refused_at_once(4).await;
}

#[tokio::test]
async fn a_split_of_four_nodes_is_settled_by_retry() {
    an_even_split_is_settled_by_retry(4).await;
}
