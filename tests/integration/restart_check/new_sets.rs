//! Sets of nodes that no client has used before, or that no client uses any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redlock_core::node::NodeError;
use redlock_core::node::NodeErrorKind::Quarantined;
use redlock_core::restart_check::{CheckedSet, Marker, RestartCheck};
use redlock_tests::Nodes;

use crate::restart_check::fixture::{
    MARKER, MAX_TTL, OFTEN, SOON, Set, client, marker, once, reason,
};

/// Three new nodes that vote at once for each of `clients` clients that start together.
async fn opened_by(clients: usize) -> Nodes {
    let nodes = Nodes::start(3).await;
    let starting: Vec<_> = (0..clients)
        .map(|_| tokio::spawn(Set::standard(nodes.urls())))
        .collect();
    for set in starting {
        assert_eq!(set.await.unwrap().votes(), [true; 3]);
    }
    nodes
}

#[tokio::test]
async fn a_new_set_votes_at_once_but_under_a_strict_restart_check() {
    let nodes = opened_by(1).await;
    for node in &nodes {
        assert_eq!(Some(marker(node).run_id), node.info("run_id"));
    }

    let nodes = Nodes::start(3).await;
    let began = Instant::now();
    let set = Set::with(nodes.urls(), RestartCheck::Strict, |_| {}).await;
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
    assert!(Marker::parse(&nodes[2].get(MARKER).unwrap()).is_some());
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
    assert_eq!(nodes[0].get(MARKER), None);
    nodes[1].restart().await;
    set.until_voting(0).await;
    set.until_voting(1).await;
}

/// A client whose quarantines no test waits for.
async fn patient(nodes: &Nodes, heartbeat: Duration) -> Set {
    let set = Set::with(nodes.urls(), RestartCheck::Standard, |options| {
        options.heartbeat = heartbeat;
        let checked_set = CheckedSet::new(RestartCheck::Standard, SOON * 60, nodes.len());
        options.checked_set = Some(Arc::new(checked_set));
    });
    set.await.voting().await
}

async fn until_idle_set_votes(nodes: &Nodes, sets: [&Set; 2]) {
    for node in nodes {
        // As the runbook says.
        node.command(["SET", MARKER, "idle", "EX", "60"]);
    }
    for set in sets {
        for index in 0..nodes.len() {
            set.until_voting(index).await;
        }
        let lease = client().acquire(&set.node_set(), &once("r")).await.unwrap();
        lease.release().await;
    }
}

#[tokio::test]
async fn a_set_that_restarted_empty_waits_until_its_operator_says_that_it_is_idle() {
    let nodes = Nodes::start(3).await;
    let sets = [patient(&nodes, OFTEN).await, patient(&nodes, OFTEN).await];
    for node in &nodes {
        node.restart().await;
    }
    for set in &sets {
        for index in 0..3 {
            set.until_it_says(index, "it restarted empty, so it may have forgotten locks")
                .await;
        }
    }
    until_idle_set_votes(&nodes, [&sets[0], &sets[1]]).await;
}

#[tokio::test]
async fn a_process_that_saw_a_set_in_use_waits_although_a_new_one_opened_it() {
    let nodes = Nodes::start(3).await;
    // Looks when it has to connect again, and then when its quarantine wants it to.
    let old = patient(&nodes, SOON * 10).await;
    for node in &nodes {
        node.flushall();
    }
    let new = patient(&nodes, OFTEN).await;
    for (index, node) in nodes.iter().enumerate() {
        node.command(["CLIENT", "KILL", "TYPE", "normal"]);
        old.until_it_says(index, "it was flushed, so it may have forgotten locks")
            .await;
        new.until_voting(index).await;
    }
    until_idle_set_votes(&nodes, [&old, &new]).await;
}
