//! Keys that an extension puts back at nodes that lost them.

use std::time::Duration;

use redlock_tests::eventually;

use crate::core::fixture::{SOON, client, once, settle, start, until_voting};
use crate::core::renewal::until_there;

const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_node_that_lost_the_key_gets_it_back_once_a_majority_has_proved_that_it_is_ours() {
    let (nodes, set) = start(3).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    for node in &nodes {
        until_there(node).await;
    }
    nodes[0].kill();
    nodes[0].restart().await;
    until_voting(&set[0], true).await;
    eventually("the key back", SOON, || async {
        // A node that answers behind the majority is heard by the next extension.
        lease.extend(TTL).await.unwrap();
        nodes[0].get("r").map(|_| ()).ok_or("gone".to_owned())
    })
    .await;
    assert_eq!(nodes[0].get("r"), nodes[1].get("r"));
    // One extension finds the key, and the next one proves that the lock was ours until it began. From
    // then on the lease lives through the restart of another node.
    for _ in 0..2 {
        settle(&set).await;
        lease.extend(TTL).await.unwrap();
    }
    settle(&set).await;
    nodes[1].kill();
    nodes[1].restart().await;
    until_voting(&set[1], true).await;
    lease.extend(TTL).await.unwrap();
    lease.release().await;
    nodes.assert_no_keys(SOON).await;
}

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

#[tokio::test]
async fn a_key_is_not_put_back_over_another_ones() {
    let (nodes, set) = start(3).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    // Not only on all nodes, but known to be: without the first one, the lease rests on the last.
    settle(&set).await;
    nodes[0].set("r", "thief", Some(TTL));
    lease.extend(TTL).await.unwrap();
    lease.release().await;
    settle(&set).await;
    assert_eq!(nodes[0].get("r").as_deref(), Some(&b"thief"[..]));
}
