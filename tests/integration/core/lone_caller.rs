//! A caller that is alone on its connections writes to them itself. The faults are the same.

use std::time::Duration;

use redlock_core::lease::Released;
use redlock_core::{Client, NodeSet};
use redlock_tests::{Nodes, Proxy, eventually};

use crate::core::fixture::{
    SOON, client, connect, connect_each, once, patient, settle, until_voting,
};

/// Locks and releases so often, one pair after the other, that every node sees a lone caller.
async fn warm_up(client: &Client, set: &NodeSet) {
    for _ in 0..50 {
        let lease = client.acquire(set, &once("warm")).await.unwrap();
        assert_eq!(lease.release().await, Released::Confirmed);
    }
}

#[tokio::test]
async fn what_it_wrote_to_a_node_that_hangs_is_found_by_the_watchdog_and_undone() {
    let nodes = Nodes::start(3).await;
    // The others are not suspected, however slow the machine is.
    let mut options = [patient(), patient(), patient()];
    options[0].suspect_after = Duration::from_millis(200);
    let set = connect_each(nodes.urls().into_iter().zip(options)).await;
    let client = client();
    for _ in 0..3 {
        warm_up(&client, &set).await;
        // No answer is out, so that it votes until it hangs.
        settle(&set).await;
        until_voting(&set[0], true).await;
        nodes[0].freeze();
        let lease = client.acquire(&set, &once("r")).await.unwrap();
        // Nobody asks the node for anything else.
        until_voting(&set[0], false).await;
        assert_eq!(lease.release().await, Released::Confirmed);
        nodes[0].thaw();
        until_voting(&set[0], true).await;
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn what_it_wrote_into_a_connection_that_breaks_is_undone_on_the_next() {
    let nodes = Nodes::start(3).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let mut urls = nodes.urls();
    urls[0] = proxy.url();
    let set = connect(urls).await;
    let client = client();
    for _ in 0..3 {
        until_voting(&set[0], true).await;
        warm_up(&client, &set).await;
        proxy.hold_to_client();
        let lease = client.acquire(&set, &once("r")).await.unwrap();
        eventually(
            "the vote behind the proxy",
            Duration::from_secs(20),
            || async {
                nodes[0]
                    .get("r")
                    .map(|_| ())
                    .ok_or_else(|| "not there yet".to_owned())
            },
        )
        .await;
        proxy.cut().await;
        until_voting(&set[0], false).await;
        assert_eq!(lease.release().await, Released::Confirmed);
        proxy.restore().await;
        nodes.assert_no_keys(SOON).await;
    }
}
