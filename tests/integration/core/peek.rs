//! Looks at locks that the caller does not want.

use std::time::Duration;

use redlock_core::node::Remaining;
use redlock_core::peek::LockStatus;
use redlock_core::request::Kind;
use redlock_core::{NodeSet, Resource};
use redlock_tests::RedisNode;

use crate::core::fixture::{SOON, client, impatient, once, settle, start};

const TTL: Duration = Duration::from_secs(60);

async fn look(set: &NodeSet, resource: impl Into<Resource>) -> LockStatus {
    let resource = resource.into();
    client().peek(set, &resource).await.expect("a valid name")
}

/// How often a server was written to.
fn writes(node: &RedisNode) -> String {
    node.info("rdb_changes_since_last_save")
        .expect("a figure of every server")
}

#[tokio::test]
async fn a_look_tells_a_held_lock_from_a_free_one_and_changes_nothing() {
    let (nodes, set) = start(3).await;
    let holder = client();
    assert!(look(&set, "r").await.is_free());
    let lease = holder.acquire(&set, &once("r").ttl(TTL)).await.unwrap();
    settle(&set).await;

    let before: Vec<_> = nodes.iter().map(writes).collect();
    let status = look(&set, "r").await;
    let seen = status.holder().expect("held");
    assert_eq!(seen.owner(), Some(holder.owner()));
    assert!(seen.votes() >= 2 && seen.nodes() == 3, "{status}");
    let Remaining::Expires(left) = seen.remaining() else {
        panic!("{status}");
    };
    assert!(left <= TTL && left > TTL / 2, "{status}");
    assert_eq!(nodes.iter().map(writes).collect::<Vec<_>>(), before);

    lease.release().await;
    settle(&set).await;
    assert!(look(&set, "r").await.is_free());
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn readers_are_seen_without_a_name_and_a_writer_with_one() {
    let (_nodes, set) = start(3).await;
    let request = |kind| once("r").kind(kind).ttl(TTL);
    let readers = [
        client().acquire(&set, &request(Kind::Read)).await.unwrap(),
        client().acquire(&set, &request(Kind::Read)).await.unwrap(),
    ];
    settle(&set).await;
    let status = look(&set, "r").await;
    let seen = status.holder().expect("held");
    assert!(seen.is_readers() && seen.owner().is_none(), "{status}");
    assert!(
        status.to_string().starts_with("held by readers for "),
        "{status}"
    );
    for reader in readers {
        reader.release().await;
    }
    settle(&set).await;
    assert!(look(&set, "r").await.is_free());

    let client = client();
    let writer = client.acquire(&set, &request(Kind::Write)).await.unwrap();
    settle(&set).await;
    let status = look(&set, "r").await;
    let seen = status.holder().expect("held");
    assert_eq!(seen.owner(), Some(client.owner()));
    assert!(!seen.is_readers(), "{status}");
    writer.release().await;
}

#[tokio::test]
async fn of_permits_a_look_tells_the_first_one() {
    let (nodes, set) = start(3).await;
    let (client, permit) = (client(), once("r").kind(Kind::Permits(2)).ttl(TTL));
    let leases = [
        client.acquire(&set, &permit).await.unwrap(),
        client.acquire(&set, &permit).await.unwrap(),
    ];
    settle(&set).await;
    assert!(look(&set, "r").await.holder().is_some());
    for node in &nodes {
        node.del("r");
    }
    // The other one is held.
    assert_eq!(nodes.lock_keys().len(), 1);
    assert!(look(&set, "r").await.is_free());
    drop(leases);
}

#[tokio::test]
async fn a_node_that_hangs_costs_a_look_the_node_timeout_at_most() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.set("r", "by hand", Some(TTL));
    }
    nodes[0].freeze();
    nodes[1].freeze();
    let status = impatient().peek(&set, &"r".into()).await.unwrap();
    let LockStatus::Undecided(seen) = &status else {
        panic!("{status}");
    };
    assert_eq!((seen.held, seen.failed.len()), (1, 2), "{status}");
    nodes[0].thaw();
    nodes[1].thaw();
}
