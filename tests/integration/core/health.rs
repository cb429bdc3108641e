//! The health that a client reports of its nodes.

use std::time::Duration;

use redlock_core::node::NodeErrorKind;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, Proxy, wait_until};

use crate::core::fixture::{
    SOON, client, connect, connect_each, connect_with, once, patient, reason, until_voting,
};

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
async fn calls_to_a_frozen_node_are_counted_in_flight_or_refused() {
    let nodes = Nodes::start(3).await;
    let suspect_after = Duration::from_millis(50);
    // The others are not suspected, however slow the machine is.
    let options = [patient().suspect_after(suspect_after), patient(), patient()];
    let set = connect_each(nodes.urls().into_iter().zip(options)).await;
    nodes[0].freeze();
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    // The figures have a suspicion a moment before the node votes no.
    until_voting(&set[0], false).await;
    let suspect = set[0].health();
    assert!(suspect.last_error.is_some(), "{suspect:?}");
    assert_eq!((suspect.in_flight, suspect.answers), (1, 1), "the check");
    assert!(suspect.is_connected, "it may just be slow: {suspect:?}");
    let reason = reason(&set[0]).expect("a suspect node votes no");
    assert_eq!(reason.kind(), NodeErrorKind::TimedOut);
    let other = client().acquire(&set, &once("s")).await.unwrap();
    other.release().await;
    assert!(set[0].health().errors[&NodeErrorKind::TimedOut] >= 1);

    nodes[0].thaw();
    lease.release().await;
    wait_until("all answers", || set[0].health().in_flight, |it| *it == 0).await;
}

#[tokio::test]
async fn an_idle_connection_that_died_in_silence_is_replaced() {
    let nodes = Nodes::start(1).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let options = patient()
        .heartbeat(Duration::from_millis(50))
        .suspect_after(Duration::from_millis(50))
        .dead_after(Duration::from_millis(200));
    let set = connect_with([proxy.url()], &options).await;
    until_voting(&set[0], true).await;
    // Nobody asks for a lock, and the network forgets the connection without a word.
    proxy.swallow_to_client();
    let kind = || reason(&set[0]).map(|reason| reason.kind());
    let is_given_up = |kind: &Option<_>| kind.is_some_and(|kind| kind != NodeErrorKind::TimedOut);
    wait_until("the connection to be given up", kind, is_given_up).await;
    proxy.restore().await;
    until_voting(&set[0], true).await;
    // This node's timeouts are so short that on a busy machine they pass without a fault, too.
    let request = once("r").retry_limit(RetryLimit::Wait(SOON));
    drop(client().acquire(&set, &request).await.unwrap());
}
