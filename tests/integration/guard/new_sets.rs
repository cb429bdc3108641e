//! Sets of nodes that nobody used before.

use std::time::{Duration, Instant};

use redlock_core::NodeError;
use redlock_core::NodeErrorKind::Quarantined;
use redlock_core::guard::{Marker, RestartGuard};
use redlock_tests::Nodes;

use crate::guard::fixture::{MAX_TTL, Set, marker, reason};

/// Three new nodes that voted at once for each of so many clients, which started together.
///
/// A set is new for a second only, so that a node which forgot is not taken for a new one. A machine
/// that needs longer to ask three nodes gets another set.
async fn opened_by(clients: usize) -> Nodes {
    for _ in 0..20 {
        let nodes = Nodes::start(3).await;
        let began = Instant::now();
        let starting: Vec<_> = (0..clients)
            .map(|_| tokio::spawn(Set::standard(nodes.urls())))
            .collect();
        let mut votes = Vec::new();
        for set in starting {
            votes.push(set.await.unwrap().votes());
        }
        if votes.iter().all(|votes| *votes == [true; 3]) {
            return nodes;
        }
        assert!(began.elapsed() >= Duration::from_secs(1), "{votes:?}");
    }
    panic!("this machine takes longer than a second to ask three nodes");
}

#[tokio::test]
async fn a_new_set_votes_at_once_but_under_a_strict_guard() {
    let nodes = opened_by(1).await;
    for node in &nodes {
        assert_eq!(Some(marker(node).run_id), node.info("run_id"));
    }

    let nodes = Nodes::start(3).await;
    let began = Instant::now();
    let set = Set::with(nodes.urls(), RestartGuard::Strict, |_| {}).await;
    let reasons: Vec<_> = set.nodes.iter().map(|node| reason(&**node)).collect();
    let is_held = |reason: &NodeError| reason.kind() == Quarantined;
    let all_are = reasons.iter().all(|it| it.as_ref().is_some_and(is_held));
    assert!(all_are || began.elapsed() >= MAX_TTL, "{reasons:?}");
    set.voting().await;
    assert!(began.elapsed() >= MAX_TTL);
}

#[tokio::test]
async fn many_clients_that_start_at_once_on_a_new_set_all_vote() {
    opened_by(8).await;
}

#[tokio::test]
async fn of_a_new_set_with_a_node_down_the_rest_votes_and_the_late_one_waits() {
    let nodes = Nodes::start(3).await;
    nodes[2].kill();
    let set = Set::standard(nodes.urls()).await;
    for index in [0, 1] {
        set.until_voting(index).await;
    }
    assert_eq!(set.votes(), [true, true, false]);
    let restarted = Instant::now();
    nodes[2].restart().await;
    set.until_voting(2).await;
    assert!(
        restarted.elapsed() >= MAX_TTL,
        "it may have forgotten locks"
    );
    assert!(Marker::parse(&nodes[2].get(crate::guard::fixture::MARKER).unwrap()).is_some());
}

#[tokio::test]
async fn a_minority_of_a_blank_set_waits_for_more_of_it() {
    let nodes = Nodes::start(3).await;
    nodes[1].kill();
    nodes[2].kill();
    let set = Set::standard(nodes.urls()).await;
    let reason = set.until(0, Quarantined).await;
    assert!(
        reason.contains("until a majority of the pools is reachable"),
        "{reason}"
    );
    assert_eq!(nodes[0].get(crate::guard::fixture::MARKER), None);
    nodes[1].restart().await;
    set.until_voting(0).await;
    set.until_voting(1).await;
}
