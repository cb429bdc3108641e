//! Sets of nodes that nobody used before.

use redlock_core::NodeErrorKind::Quarantined;
use redlock_core::guard::{Marker, RestartGuard};
use redlock_tests::Nodes;

use crate::guard::fixture::{Set, marker};

#[tokio::test]
async fn a_new_set_votes_at_once_but_under_a_strict_guard() {
    let nodes = Nodes::start(3).await;
    let set = Set::standard(nodes.urls()).await;
    assert_eq!(set.votes(), [true; 3]);
    for node in &nodes {
        assert_eq!(Some(marker(node).run_id), node.info("run_id"));
    }

    let nodes = Nodes::start(3).await;
    let set = Set::with(nodes.urls(), RestartGuard::Strict, |_| {}).await;
    assert_eq!(set.votes(), [false; 3]);
    set.until(0, Quarantined).await;
    for index in 0..3 {
        set.until_voting(index).await;
    }
}

#[tokio::test]
async fn many_clients_that_start_at_once_on_a_new_set_all_vote() {
    let nodes = Nodes::start(3).await;
    let starting: Vec<_> = (0..8)
        .map(|_| tokio::spawn(Set::standard(nodes.urls())))
        .collect();
    for set in starting {
        assert_eq!(set.await.unwrap().votes(), [true; 3]);
    }
}

#[tokio::test]
async fn of_a_new_set_with_a_node_down_the_rest_votes_and_the_late_one_waits() {
    let nodes = Nodes::start(3).await;
    nodes[2].kill();
    let set = Set::standard(nodes.urls()).await;
    assert_eq!(set.votes(), [true, true, false]);
    nodes[2].restart().await;
    set.until(2, Quarantined).await;
    set.until_voting(2).await;
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
