//! Nodes that are held by others: every combination of them. And nodes of which there are too few, or too many.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_core::error::AcquireError;
use redlock_tests::Nodes;

use crate::core::fixture::{once, start};
use crate::faults::scene::{soon, until_served, without_timeouts};

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

async fn a_lock_is_acquired_exactly_when_a_majority_is_free(n: usize) {
    let (nodes, set) = start(n).await;
    for held in 0..1 << n {
        one_combination(&nodes, &set, held).await;
    }
}

with_three_and_five_nodes! {
    a_lock_is_acquired_exactly_when_a_majority_is_free,
}

#[tokio::test]
async fn an_even_number_of_nodes_needs_more_than_half_of_them() {
    a_lock_is_acquired_exactly_when_a_majority_is_free(4).await;
}

#[tokio::test]
async fn a_lock_over_no_nodes_or_too_many_is_invalid() {
    let (_nodes, one) = start(1).await;
    for count in [0, 65] {
        let set: NodeSet = std::iter::repeat_n(&one[0], count).cloned().collect();
        let refused = soon(without_timeouts().acquire(&set, &once("r"))).await;
        let error = refused.unwrap_err();
        assert!(matches!(error, AcquireError::Invalid(_)), "{error}");
        assert!(error.to_string().contains("give it 1 to 64"), "{error}");
    }
}
