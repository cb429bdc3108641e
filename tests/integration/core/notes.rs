//! Notes of holders: where they are, who is told of them, and that they change nothing else.

use std::time::Duration;

use redlock_core::error::{AcquireError, Contended};
use redlock_core::request::{Note, RetryLimit};
use redlock_core::{Client, Lease, NodeSet, Request};
use redlock_tests::{Nodes, eventually};

use crate::core::fixture::{SOON, client, once, settle, start, unhurried};

const TTL: Duration = Duration::from_secs(60);

fn noted(resource: &str, note: &str) -> Request {
    let mut request = once(resource).ttl(TTL);
    request.note = Note::new(note);
    request
}

fn texts(nodes: &Nodes, key: &str) -> Vec<String> {
    let values = nodes.values_of(key).into_iter();
    let texts = values.map(|value| String::from_utf8(value.unwrap_or_default()));
    texts.map(|text| text.expect("a text")).collect()
}

#[track_caller]
fn contended(outcome: Result<Lease, AcquireError>) -> Contended {
    match outcome {
        Err(AcquireError::Contended(contended)) => contended,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_note_stands_behind_the_token_and_refusals_and_looks_tell_it() {
    let (nodes, set) = start(3).await;
    let holder = client();
    let lease = holder.acquire(&set, &noted("r", "job 42")).await.unwrap();
    settle(&set).await;
    for text in texts(&nodes, "r") {
        let (token, note) = text.split_once(' ').expect("a note");
        assert_eq!(note, "job 42");
        assert_eq!(token.rsplit_once('/').unwrap().0, holder.owner());
    }
    assert_eq!(lease.note(), Note::new("job 42"));

    let refused = contended(client().acquire(&set, &once("r")).await);
    assert_eq!(refused.holding.owner(), Some(holder.owner()));
    assert_eq!(refused.holding.note(), Note::new("job 42"));
    let text = refused.to_string();
    let told = format!("held by {} (`job 42`) for ", holder.owner());
    assert!(text.starts_with(&told), "{text}");

    let status = client().peek(&set, &"r".into()).await.unwrap();
    let seen = status.holder().expect("held");
    assert_eq!(seen.note(), Note::new("job 42"));
    assert_eq!(seen.owner(), Some(holder.owner()));
    lease.release().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn every_operation_works_on_keys_with_a_note() {
    let (nodes, set) = start(3).await;
    let mut request = noted("a", &"ü".repeat(200));
    request.resource = ["a", "b"].into();
    request.fencing = true;
    let lease = client().acquire(&set, &request).await.unwrap();
    settle(&set).await;
    lease.extend(TTL * 2).await.unwrap();
    // What an extension finds gone, it puts back: with the note.
    nodes[0].del("a");
    eventually("the key to be put back", SOON, || async {
        lease.extend(TTL * 2).await.unwrap();
        settle(&set).await;
        let values = texts(&nodes, "a");
        let is_back = values[0] == values[1] && values[0].ends_with('…');
        is_back.then_some(()).ok_or_else(|| format!("{values:?}"))
    })
    .await;
    let next = lease.fencing_token().unwrap();
    lease.release().await;
    nodes.assert_no_lock_keys(SOON).await;

    let mut request = noted("a", "second");
    request.resource = ["a", "b"].into();
    request.fencing = true;
    let lease = client().acquire(&set, &request).await.unwrap();
    assert!(lease.fencing_token().unwrap() > next);
    settle(&set).await;
    assert_eq!(texts(&nodes, "b").len(), 3);
    let status = client().peek(&set, &"b".into()).await.unwrap();
    assert_eq!(status.holder().unwrap().note(), Note::new("second"));
}

/// Has one caller hold the lock and another one of the same client wait for it, and returns the next
/// lease, with what the nodes have under the key before and after.
async fn next_in_line(
    (nodes, set): (&Nodes, &NodeSet),
    client: &Client,
    texts_of: [&str; 2],
) -> (Lease, [String; 2]) {
    let [first, second] = texts_of.map(|note| noted("r", note));
    let lease = client.acquire(set, &first).await.unwrap();
    settle(set).await;
    let before = texts(nodes, "r").swap_remove(0);
    let waiting = {
        let (client, set) = (client.clone(), set.clone());
        let mut second = second;
        second.retry.limit = RetryLimit::Wait(SOON);
        tokio::spawn(async move { client.acquire(&set, &second).await })
    };
    eventually("a caller to wait", SOON, || async {
        let is_there = client.waiting() == 1;
        is_there
            .then_some(())
            .ok_or_else(|| "nobody in line".to_owned())
    })
    .await;
    lease.release().await;
    let lease = waiting.await.unwrap().unwrap();
    settle(set).await;
    (lease, [before, texts(nodes, "r").swap_remove(0)])
}

#[tokio::test]
async fn a_lock_is_handed_over_as_it_is_only_to_a_caller_with_the_same_note() {
    let (nodes, set) = start(1).await;
    let client = unhurried();
    for (given, is_same) in [
        (["a", "a"], true),
        (["a", "b"], false),
        (["", "b"], false),
        (["a", ""], false),
        (["", ""], true),
    ] {
        let (lease, [before, after]) = next_in_line((&nodes, &set), &client, given).await;
        assert_eq!(before == after, is_same, "{given:?}");
        assert_eq!(lease.note(), Note::new(given[1]));
        let note = after.split_once(' ').map_or("", |(_, note)| note);
        assert_eq!(note, given[1], "{after}");
        lease.release().await;
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_caller_in_line_is_told_the_note_of_the_holder_in_its_process() {
    let (_nodes, set) = start(1).await;
    let client = client();
    let lease = client.acquire(&set, &noted("r", "job 42")).await.unwrap();
    let mut waits = once("r");
    waits.retry.limit = RetryLimit::Wait(Duration::from_millis(20));
    let refused = contended(client.acquire(&set, &waits).await);
    assert_eq!(refused.holding.note(), Note::new("job 42"));
    drop(lease);
}
