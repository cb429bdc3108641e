//! What is known of a node that is looked after.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::Node;
use redlock_core::node::{NodeErrorKind, NodeHealth, NodeStatus};
use redlock_tests::{Nodes, Proxy, eventually};

use crate::core::fixture::{SOON, client, connect, connect_each, once, patient, until_voting};

/// Waits until the figures say what is wanted, and returns them.
async fn until(
    node: &Arc<dyn Node>,
    what: &str,
    is_so: impl Fn(&NodeHealth) -> bool,
) -> NodeHealth {
    eventually(what, SOON, || async {
        let node_health = node.health();
        is_so(&node_health)
            .then(|| node_health.clone())
            .ok_or_else(|| format!("{node_health:?}"))
    })
    .await
}

#[tokio::test]
async fn latency_and_answers_are_those_of_the_check_and_of_operations() {
    let nodes = Nodes::start(1).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let set = connect([proxy.url()]).await;
    let before = set[0].health();
    assert!(before.is_connected && before.connections == 1, "{before:?}");
    assert!(
        before.latency.is_some() && before.answers == 1,
        "{before:?}"
    );
    let server = before.server.unwrap();
    let port = proxy.addr().port().to_string();
    assert!(server.ends_with(&port), "{server}");

    // Each way: a time that any clock can tell.
    let delay = Duration::from_millis(20);
    proxy.delay(delay);
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    let held = set[0].health();
    assert_eq!(held.answers, 2);
    // An answer is an eighth of the figure.
    assert!(held.latency >= Some(delay * 2 / 8), "{held:?}");

    lease.release().await;
    let after = set[0].health();
    assert_eq!(after.answers, 3);
    assert!(after.errors.is_empty());
    assert!(after.last_error.is_none());
}

#[tokio::test]
async fn a_killed_servers_error_is_the_last_error_and_stays_that_when_it_is_back() {
    let nodes = Nodes::start(1).await;
    let set = connect(nodes.urls()).await;
    nodes[0].kill();
    until_voting(&set[0], false).await;
    let down = until(&set[0], "an attempt to reconnect", |node_health| {
        let refused = |error: &str| error.contains("refused");
        node_health
            .last_error
            .as_ref()
            .is_some_and(|last| refused(&last.error.to_string()))
    })
    .await;
    assert!(!down.is_connected && down.connections == 1, "{down:?}");
    // Its figures have the reason a moment before the node itself says so.
    eventually("the reason", SOON, || async {
        match set[0].status() {
            NodeStatus::Abstaining(reason) if reason.kind() == NodeErrorKind::NotConnected => {
                Ok(())
            }
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    client().acquire(&set, &once("r")).await.unwrap_err();
    // The attempt; what is undone was never sent, and is owed.
    let refused = set[0].health().errors[&NodeErrorKind::NotConnected];
    assert!(refused >= 1, "{refused}");

    nodes[0].restart().await;
    until_voting(&set[0], true).await;
    let back = set[0].health();
    assert!(back.is_connected && back.connections == 2, "{back:?}");
    assert!(back.since.unwrap() < back.last_error.unwrap().ago);
}

#[tokio::test]
async fn what_is_in_flight_on_a_frozen_node_is_counted_and_so_is_what_it_turns_away() {
    let nodes = Nodes::start(3).await;
    let suspect_after = Duration::from_millis(50);
    // The others are not suspected, however slow the machine is.
    let mut options = [patient(), patient(), patient()];
    options[0].suspect_after = suspect_after;
    let set = connect_each(nodes.urls().into_iter().zip(options)).await;
    nodes[0].freeze();
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    // The figures have a suspicion a moment before the node votes no.
    until_voting(&set[0], false).await;
    let suspect = set[0].health();
    assert!(suspect.last_error.is_some(), "{suspect:?}");
    assert_eq!((suspect.in_flight, suspect.answers), (1, 1), "the check");
    assert!(suspect.is_connected, "it may just be slow: {suspect:?}");
    let NodeStatus::Abstaining(reason) = set[0].status() else {
        panic!("a suspect node votes no");
    };
    assert_eq!(reason.kind(), NodeErrorKind::TimedOut);
    client()
        .acquire(&set, &once("s"))
        .await
        .unwrap()
        .release()
        .await;
    assert!(set[0].health().errors[&NodeErrorKind::TimedOut] >= 1);

    nodes[0].thaw();
    lease.release().await;
    until(&set[0], "all answers", |node_health| {
        node_health.in_flight == 0
    })
    .await;
}
