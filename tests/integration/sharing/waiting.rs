//! Readers and writers that wait for each other.

use redlock_core::error::AcquireError;
use redlock_core::node::Obstacle;
use redlock_core::{Lease, NodeSet, Request};
use tokio::task::JoinHandle;

use crate::core::fixture::{SOON, client, settle, start};
use crate::sharing::fixture::{
    FORGED_TURN, INTENT, TTL, TURN, acquired, patiently, reads, refused, until_there, writes,
};

type Waiting = JoinHandle<Result<Lease, AcquireError>>;

/// A caller of another client.
fn waits(set: &NodeSet, request: Request) -> Waiting {
    let set = set.clone();
    tokio::spawn(async move { client().acquire(&set, &patiently(request)).await })
}

#[tokio::test]
async fn a_writer_does_not_starve_under_a_stream_of_readers() {
    let (nodes, set) = start(3).await;
    let mut reader = acquired(&set, &reads()).await;
    let writer = waits(&set, writes());
    until_there(&nodes, INTENT).await;
    // Readers that wait come again and again, and none of them goes in before the writer.
    let readers: Vec<_> = (0..4).map(|_| waits(&set, reads())).collect();
    until_there(&nodes, TURN).await;
    reader.extend(TTL).await.unwrap();
    reader.release().await;
    let writer = writer.await.unwrap().unwrap();
    assert!(readers.iter().all(|reader| !reader.is_finished()));
    writer.release().await;
    for waiting in readers {
        reader = waiting.await.unwrap().unwrap();
        reader.release().await;
    }
}

#[tokio::test]
async fn a_writer_that_only_tries_leaves_nothing() {
    let (nodes, set) = start(3).await;
    let reader = acquired(&set, &reads()).await;
    refused(&set, &writes()).await;
    settle(&set).await;
    assert_eq!(nodes.values_of(INTENT), [None, None, None]);
    reader.release().await;
    let writer = acquired(&set, &writes()).await;
    refused(&set, &reads()).await;
    settle(&set).await;
    assert_eq!(nodes.values_of(TURN), [None, None, None]);
    writer.release().await;
    nodes.assert_no_keys(SOON).await;
}

/// The keys are anybody's to write. Whatever is in them, no writer and no reader is in at once.
#[tokio::test]
async fn forged_advice_admits_nobody() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.command(FORGED_TURN);
    }
    let reader = acquired(&set, &reads()).await;
    settle(&set).await;
    assert_eq!(refused(&set, &writes()).await.0, Obstacle::Readers);
    reader.release().await;
    for node in &nodes {
        node.del(TURN);
    }
    let writer = acquired(&set, &writes()).await;
    settle(&set).await;
    for node in &nodes {
        node.command(FORGED_TURN);
        node.del(INTENT);
    }
    assert_eq!(refused(&set, &reads()).await.0, Obstacle::Holder);
    writer.release().await;
}
