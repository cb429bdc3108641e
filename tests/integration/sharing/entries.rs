//! The readers' entries: each ends by itself, and only its owner moves it.

use std::time::Duration;

use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::Released;
use redlock_core::{NodeSet, Request};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

use crate::core::fixture::{SOON, connect, settle, start};
use crate::sharing::fixture::{
    READERS, TTL, acquired, entries, reads, refused, until_entries, writes,
};

const SHORT: Duration = Duration::from_secs(100);

/// Servers whose clocks a test moves.
async fn with_movable_clocks(n: usize) -> (Nodes, NodeSet) {
    let nodes = Nodes::start_with(n, NodeOptions::default().movable_clock()).await;
    let set = connect(nodes.urls()).await;
    (nodes, set)
}

fn short() -> Request {
    reads().ttl(SHORT)
}

/// How much longer the key lives on `node`.
fn left(node: &RedisNode) -> Duration {
    node.pttl("r").left().expect("an expiry")
}

fn pass(nodes: &Nodes, time: Duration) {
    nodes.iter().for_each(|node| node.advance_clock(time));
}

#[tokio::test]
async fn a_second_reader_with_a_shorter_ttl_does_not_shorten_the_first_ones() {
    let (nodes, set) = with_movable_clocks(3).await;
    let first = acquired(&set, &reads()).await;
    let second = acquired(&set, &short()).await;
    settle(&set).await;
    for node in &nodes {
        assert!(left(node) > SHORT, "{:?}", left(node));
    }
    pass(&nodes, SHORT * 2);
    refused(&set, &writes()).await;
    // A third one sweeps what has ended, by the servers' clocks.
    let third = acquired(&set, &short()).await;
    settle(&set).await;
    until_entries(&nodes, 2).await;
    drop((first, second, third));
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_readers_renewal_does_not_keep_dead_readers_alive() {
    let (nodes, set) = with_movable_clocks(3).await;
    let dead = acquired(&set, &short()).await;
    let alive = acquired(&set, &short()).await;
    settle(&set).await;
    // As if its process had been killed.
    std::mem::forget(dead);
    alive.extend(TTL).await.unwrap();
    settle(&set).await;
    until_entries(&nodes, 2).await;
    pass(&nodes, SHORT * 2);
    alive.extend(TTL).await.unwrap();
    settle(&set).await;
    until_entries(&nodes, 1).await;
    // The live reader is the last reader, so its release deletes the key.
    assert_eq!(alive.release().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn an_extension_moves_its_own_entry_only_and_never_back() {
    let (nodes, set) = start(3).await;
    let one = acquired(&set, &short()).await;
    let other = acquired(&set, &short()).await;
    settle(&set).await;
    let scores = |node: &RedisNode| -> Vec<(String, u64)> {
        node.try_command(["ZRANGE", READERS, "0", "-1", "WITHSCORES"])
            .expect("a sorted set")
    };
    let before: Vec<_> = nodes.iter().map(scores).collect();
    one.extend(TTL).await.unwrap();
    settle(&set).await;
    let after: Vec<_> = nodes.iter().map(scores).collect();
    for (before, after) in before.iter().zip(&after) {
        let still = before.iter().filter(|entry| after.contains(entry)).count();
        assert_eq!((before.len(), still), (2, 1), "{before:?} {after:?}");
    }
    one.extend(SHORT).await.unwrap();
    settle(&set).await;
    assert_eq!(nodes.iter().map(scores).collect::<Vec<_>>(), after);
    drop((one, other));
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn an_extension_does_not_revive_an_entry() {
    let (nodes, set) = with_movable_clocks(3).await;
    let long = acquired(&set, &reads()).await;
    let over = acquired(&set, &short()).await;
    settle(&set).await;
    pass(&nodes, SHORT * 2);
    // Its own clock says that it is valid, and the marker of the other reader is there.
    let ended = over.extend(TTL).await.unwrap_err();
    assert!(
        matches!(ended, ExtendError::Ended(LeaseEnd::Taken(None))),
        "{ended}"
    );
    over.release().await;
    long.extend(TTL).await.unwrap();
    settle(&set).await;
    until_entries(&nodes, 1).await;
    drop(long);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn the_last_reader_deletes_the_key_and_the_others_shorten_it() {
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        let short = acquired(&set, &short()).await;
        let long = acquired(&set, &reads()).await;
        settle(&set).await;
        assert!(nodes.iter().all(|node| left(node) > SHORT));
        assert_eq!(long.release().await, Released::Confirmed);
        settle(&set).await;
        assert!(nodes.iter().all(|node| left(node) <= SHORT));
        assert_eq!(short.release().await, Released::Confirmed);
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn an_entry_is_put_back_behind_a_proven_extension_and_nowhere_else() {
    let (nodes, set) = start(3).await;
    let reader = acquired(&set, &reads()).await;
    settle(&set).await;
    nodes[0].flushall();
    nodes[0].script_flush();
    reader.extend(TTL).await.unwrap();
    settle(&set).await;
    // The first extension makes the node learn the scripts again, and the next one finds the entry missing there. The
    // answer of a node that is slower than the majority is read one extension later.
    for _ in 0..3 {
        reader.extend(TTL).await.unwrap();
        settle(&set).await;
    }
    until_entries(&nodes, 1).await;
    assert!(nodes.iter().all(|node| node.get("r").is_some()));
    // Not beside another holder's key.
    nodes[0].flushall();
    nodes[0].set("r", "someone", Some(SHORT));
    for _ in 0..3 {
        reader.extend(TTL).await.unwrap();
        settle(&set).await;
    }
    assert_eq!(nodes[0].get("r").unwrap(), b"someone");
    assert_eq!(entries(&nodes[0]), Vec::<String>::new());
    nodes[0].del("r");
    reader.release().await;
    nodes.assert_no_keys(SOON).await;
}
