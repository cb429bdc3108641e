//! Nodes that are down, hung, slow, cut off, or come back.

use std::time::Duration;

use redlock_core::error::{AcquireError, Unavailable};
use redlock_core::lease::Released;
use redlock_core::node::{NodeErrorKind, NodeStatus};
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, Proxy, eventually};

use crate::core::fixture::{
    SOON, client, connect, connect_with, impatient, once, patient, until_voting,
};

fn unavailable(error: AcquireError) -> Unavailable {
    match error {
        AcquireError::Unavailable(unavailable) => unavailable,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_refused_connection_is_called_so() {
    let nodes = Nodes::start(1).await;
    nodes[0].kill();
    let set = connect(nodes.urls()).await;
    let error = client()
        .acquire(&set, &once("r"))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(error, "0 of 1 nodes voted, 1 needed; a: connection refused");
}

/// Three nodes, the first behind a proxy.
async fn behind_proxy() -> (Nodes, Proxy, redlock_core::NodeSet) {
    let nodes = Nodes::start(3).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let mut urls = nodes.urls();
    urls[0] = proxy.url();
    let set = connect(urls).await;
    (nodes, proxy, set)
}

#[tokio::test]
async fn a_release_that_could_not_be_delivered_is_repeated_after_reconnection() {
    let (nodes, proxy, set) = behind_proxy().await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    eventually("the vote behind the proxy", SOON, || async {
        nodes[0]
            .get("r")
            .map(|_| ())
            .ok_or_else(|| "not there yet".to_owned())
    })
    .await;
    proxy.cut().await;
    until_voting(&set[0], false).await;
    assert_eq!(lease.release().await, Released::Confirmed);
    assert!(
        nodes[0].get("r").is_some(),
        "the proxy let the release through"
    );
    proxy.restore().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_set_whose_answer_never_came_is_undone() {
    let (nodes, proxy, set) = behind_proxy().await;
    nodes[1].kill();
    nodes[2].kill();
    until_voting(&set[1], false).await;
    until_voting(&set[2], false).await;
    proxy.hold_to_client();
    let error = unavailable(impatient().acquire(&set, &once("r")).await.unwrap_err());
    assert!(error.to_string().contains("a: no answer in"), "{error}");
    // The SET reached the node, and so did the release behind it.
    nodes.assert_no_keys(SOON).await;
    proxy.restore().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_set_that_is_late_is_undone_by_the_release_behind_it() {
    let (nodes, proxy, set) = behind_proxy().await;
    proxy.hold_to_server();
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    assert_eq!(lease.release().await, Released::Confirmed);
    assert_eq!(nodes[0].get("r"), None, "it is still on its way");
    proxy.restore().await;
    until_voting(&set[0], true).await;
    drop(client().acquire(&set, &once("r")).await.unwrap());
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn an_idle_connection_that_died_in_silence_is_noticed_and_replaced() {
    let nodes = Nodes::start(1).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let mut options = patient();
    options.heartbeat = Duration::from_millis(50);
    options.suspect_after = Duration::from_millis(50);
    options.dead_after = Duration::from_millis(200);
    let set = connect_with([proxy.url()], &options).await;
    until_voting(&set[0], true).await;
    // Nobody asks for a lock, and the network forgets the connection without a word.
    proxy.swallow_to_client();
    until_voting(&set[0], false).await;
    eventually("the connection to be given up", SOON, || async {
        match set[0].status() {
            NodeStatus::Abstaining(error) if error.kind() != NodeErrorKind::TimedOut => Ok(()),
            status => Err(format!("{status:?}")),
        }
    })
    .await;
    proxy.restore().await;
    until_voting(&set[0], true).await;
    // This node's timeouts are so short that on a busy machine they pass without a fault, too.
    let mut request = once("r");
    request.retry.limit = RetryLimit::Wait(SOON);
    client()
        .acquire(&set, &request)
        .await
        .unwrap()
        .release()
        .await;
}

#[tokio::test]
async fn what_is_in_flight_on_a_hung_node_is_bounded() {
    let nodes = Nodes::start(3).await;
    // Never suspect: the bound alone has to do.
    let mut options = patient();
    options.max_in_flight = 8;
    let set = connect_with(nodes.urls(), &options).await;
    nodes[2].freeze();
    for _ in 0..20 {
        client()
            .acquire(&set, &once("r"))
            .await
            .unwrap()
            .release()
            .await;
    }
    nodes[1].kill();
    until_voting(&set[1], false).await;
    let error = client()
        .acquire(&set, &once("r"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("c: too many operations are in flight"),
        "{error}"
    );
    nodes[2].thaw();
    nodes.assert_no_keys(SOON).await;
}
