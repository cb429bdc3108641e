//! Nodes that are down, hung, slow, cut off, or come back.

use std::time::Duration;

use redlock_core::error::{AcquireError, Unavailable};
use redlock_core::lease::Released;
use redlock_core::node::{NodeErrorKind, NodeStatus};
use redlock_core::redis::RedisOptions;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, Proxy, eventually};

use crate::core::fixture::{
    SOON, client, connect, connect_each, connect_with, impatient, once, patient, settle, start,
    until_voting,
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

#[tokio::test]
async fn after_a_while_a_hung_node_votes_no_at_once_and_then_votes_again() {
    let nodes = Nodes::start(3).await;
    // The others are not suspected, however slow the machine is.
    let mut options = [patient(), patient(), patient()];
    options[2].suspect_after = RedisOptions::default().suspect_after;
    let set = connect_each(nodes.urls().into_iter().zip(options)).await;
    nodes[2].freeze();
    drop(client().acquire(&set, &once("r")).await.unwrap());
    until_voting(&set[2], false).await;
    nodes[2].thaw();
    // From here on no answer is out, so there is nothing to suspect it for.
    settle(&set).await;
    until_voting(&set[2], true).await;
    nodes.assert_no_keys(SOON).await;
    // Its vote counts again.
    nodes[0].kill();
    until_voting(&set[0], false).await;
    client()
        .acquire(&set, &once("r"))
        .await
        .unwrap()
        .release()
        .await;
}

#[tokio::test]
async fn a_restarted_node_is_connected_again_in_the_background() {
    let (nodes, set) = start(3).await;
    nodes[0].kill();
    nodes[1].kill();
    until_voting(&set[0], false).await;
    until_voting(&set[1], false).await;
    client().acquire(&set, &once("r")).await.unwrap_err();
    nodes[0].restart().await;
    until_voting(&set[0], true).await;
    client()
        .acquire(&set, &once("r"))
        .await
        .unwrap()
        .release()
        .await;
    nodes.assert_no_keys(SOON).await;
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
async fn an_acquisition_slower_than_its_ttl_is_never_reported_as_held() {
    let nodes = Nodes::start(3).await;
    let mut urls = Vec::new();
    let mut proxies = Vec::new();
    for node in &nodes {
        let proxy = Proxy::start(node).await;
        urls.push(proxy.url());
        proxies.push(proxy);
    }
    let set = connect(urls).await;
    // The answers take at least 40 ms, the lock lives for 30; the attempt may wait for a second.
    for proxy in &proxies {
        proxy.delay(Duration::from_millis(20));
    }
    let client = redlock_core::Client::with_settings(
        crate::core::fixture::IO.environment(),
        redlock_core::Settings::default()
            .node_timeout(Duration::from_secs(1))
            .key_prefix([]),
    );
    let mut request = once("r").ttl(Duration::from_millis(30));
    request.clock_drift_factor = 0.0;
    for _ in 0..10 {
        unavailable(client.acquire(&set, &request).await.unwrap_err());
    }
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

/// The server forgot the script of the acquisition but knows that of the release, and its answer
/// to the former comes when the latter has gone out.
#[tokio::test]
async fn an_acquisition_is_not_sent_again_behind_its_own_release() {
    let (nodes, proxy, set) = behind_proxy().await;
    nodes[0].script_flush();
    let lease = client().acquire(&set, &once("a")).await.unwrap();
    eventually("the vote behind the proxy", SOON, || async {
        nodes[0]
            .get("a")
            .map(|_| ())
            .ok_or_else(|| "not there yet".to_owned())
    })
    .await;
    lease.release().await;
    nodes.assert_no_keys(SOON).await;

    for node in nodes.iter().skip(1) {
        node.set("a", "someone", Some(Duration::from_secs(60)));
    }
    proxy.hold_to_client();
    let mut both = once("");
    both.resource = redlock_core::Resource::all(["a", "b"]);
    client().acquire(&set, &both).await.unwrap_err();
    proxy.restore().await;
    until_voting(&set[0], true).await;
    // Answers come in order. So when this one has come, everything that was sent again has been
    // served.
    client().flush(&set, SOON).await;
    assert!(nodes[0].keys().is_empty(), "{:?}", nodes[0].keys());
}
