//! Sets of nodes that no client has used before, or that no client uses any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redlock_core::node::NodeError;
use redlock_core::node::NodeErrorKind::Quarantined;
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_tests::Nodes;

use crate::core::fixture::{lock_once, reason, until_abstaining};
use crate::restart_check::fixture::{MARKER, MAX_TTL, OFTEN, SOON, Set, marker};

#[tokio::test]
async fn a_new_set_votes_at_once_unless_the_check_is_strict() {
    let nodes = Nodes::start(3).await;
    assert_eq!(Set::standard(nodes.urls()).await.votes(), [true; 3]);
    for node in &nodes {
        assert_eq!(Some(marker(node).run_id), node.info("run_id"));
    }

    let nodes = Nodes::start(3).await;
    let began = Instant::now();
    let set = Set::with(nodes.urls(), RestartCheck::Strict, |options| options).await;
    let reasons: Vec<_> = set.nodes.iter().map(reason).collect();
    let is_held = |reason: &NodeError| reason.kind() == Quarantined;
    let all_are = reasons.iter().all(|it| it.as_ref().is_some_and(is_held));
    assert!(all_are || began.elapsed() >= MAX_TTL, "{reasons:?}");
    set.voting().await;
    assert!(began.elapsed() >= MAX_TTL);
}

/// A client whose quarantines no test waits for.
async fn patient(nodes: &Nodes, heartbeat: Duration) -> Set {
    let set = Set::with(nodes.urls(), RestartCheck::Standard, |options| {
        let checked_set = CheckedSet::new(RestartCheck::Standard, SOON * 60, nodes.len(), b"");
        options
            .heartbeat(heartbeat)
            .checked_set(Arc::new(checked_set))
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
        lock_once(&set.node_set()).await;
    }
}

#[tokio::test]
async fn a_process_that_saw_a_set_in_use_waits_if_a_new_one_opens_it() {
    let nodes = Nodes::start(3).await;
    // Looks when it has to connect again, and then when its quarantine wants it to.
    let old = patient(&nodes, SOON * 10).await;
    for node in &nodes {
        node.flushall();
    }
    let new = patient(&nodes, OFTEN).await;
    for (index, node) in nodes.iter().enumerate() {
        node.command(["CLIENT", "KILL", "TYPE", "normal"]);
        let reason = "it was flushed, so it may have forgotten locks";
        until_abstaining(&old.nodes[index], reason).await;
        new.until_voting(index).await;
    }
    until_idle_set_votes(&nodes, [&old, &new]).await;
}
