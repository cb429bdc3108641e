//! Keys that an extension puts back at nodes that lost them.

use std::time::Duration;

use futures_util::future::join_all;
use redlock_core::lease::Released;
use redlock_tests::redis::Value;
use redlock_tests::{Nodes, Proxy, RedisNode, eventually, wait_until};

use crate::core::contention::each_kind;
use crate::core::fixture::{
    SOON, client, connect_each, once, patient, settle, start, until_voting_again,
};

const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn what_is_put_back_of_several_keys_lives_as_long_as_the_others() {
    let (nodes, set) = start(3).await;
    let several = once(["r", "s"]).ttl(TTL);
    let lease = client().acquire(&set, &several).await.unwrap();
    settle(&set).await;
    nodes[0].del("s");
    eventually("the key back", SOON, || async {
        lease.extend(TTL * 10).await.unwrap();
        settle(&set).await;
        nodes[0].get("s").map(|_| ()).ok_or("gone".to_owned())
    })
    .await;
    // No extension has found both keys there.
    let left = nodes[0].pttl("r").left();
    assert!(left.is_some_and(|left| left > TTL * 9), "{left:?}");
    lease.release().await;
    nodes.assert_no_keys(SOON).await;
}

/// The ids of a server's connections, without the one that asks.
fn connections(node: &RedisNode) -> Vec<String> {
    let Value::BulkString(list) = node.command(["CLIENT", "LIST"]) else {
        panic!("a list of clients");
    };
    let list = String::from_utf8(list).unwrap();
    let others = list.lines().filter(|line| !line.contains("cmd=client"));
    let id = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    others.map(id).collect()
}

/// The extension tells nothing of the acquisition, which may still lie in the old connection.
#[tokio::test]
async fn an_acquisition_that_comes_after_a_put_back_is_undone() {
    let nodes = Nodes::start(3).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let hasty = patient()
        .suspect_after(Duration::from_millis(200))
        .dead_after(Duration::from_millis(400));
    let others = nodes.iter().skip(1).map(|it| (it.url(), patient()));
    let set = connect_each([(proxy.url(), hasty)].into_iter().chain(others)).await;
    let old = connections(&nodes[0]);
    assert_eq!(old.len(), 1);

    let requests = each_kind().map(|request| request.ttl(TTL));
    proxy.hold_present_to_server();
    let client = client();
    let acquired = join_all(requests.iter().map(|it| client.acquire(&set, it))).await;
    let leases: Vec<_> = acquired.into_iter().map(Result::unwrap).collect();
    until_voting_again(&set[0], 2).await;
    eventually("the keys back", SOON, || async {
        for lease in &leases {
            lease.extend(TTL).await.unwrap();
        }
        settle(&set).await;
        // Only a confirmation would set the counter.
        let missing = nodes[1].keys().len() - nodes[0].keys().len();
        (missing == 1).then_some(()).ok_or(missing.to_string())
    })
    .await;
    for lease in leases {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    settle(&set).await;
    nodes.assert_no_lock_keys(SOON).await;

    proxy.restore().await;
    let present = || connections(&nodes[0]);
    let is_gone = |present: &Vec<String>| !present.contains(&old[0]);
    wait_until("the end of the old connection", present, is_gone).await;
    nodes.assert_no_lock_keys(SOON).await;
}
