//! Servers that are emptied while they run.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use futures_util::future::join_all;
use redlock_core::Node;
use redlock_core::error::AcquireError;
use redlock_core::node::NodeErrorKind::Quarantined;
use redlock_core::request::Kind;
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::stand_in_line;
use crate::restart_check::fixture::{MARKER, MAX_TTL, SOON, Set, client, marker, once};

#[tokio::test]
async fn a_flush_under_a_live_connection_is_found_by_the_next_check() {
    let nodes = Nodes::start(3).await;
    let set = Set::attentive(nodes.urls()).await.voting().await;
    let mut epochs = set.epochs(0);
    nodes[0].flushall();
    epochs.next().await;
    assert_eq!(set.nodes[0].epoch(), 1);
    assert_eq!(set.votes()[1..], [true, true]);
    set.until_voting(0).await;
}

/// The gate of such a node stays open, so what comes early is answered behind the check.
#[test]
fn a_flush_before_a_driver_takes_over_is_found_before_it_votes() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let first = runtime();
    let (nodes, set, lease) = first.block_on(async {
        let nodes = Nodes::start(3).await;
        let set = Set::with(nodes.urls(), RestartCheck::Standard, |options| {
            // The quarantine lasts for longer than the test.
            let checked_set = CheckedSet::new(RestartCheck::Standard, SOON * 10, 3, b"");
            options.checked_set(Arc::new(checked_set))
        });
        let set = set.await.voting().await;
        let lease = client().acquire(&set.node_set(), &once("r")).await;
        (nodes, set, lease.unwrap())
    });
    // The drivers do not run, so no check comes in between.
    for node in nodes.iter().take(2) {
        node.flushall();
    }
    drop(first);
    let attempt = async { client().acquire(&set.node_set(), &once("r")).await };
    let error = runtime().block_on(attempt).unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    assert!(error.to_string().contains("may have forgotten"), "{error}");
    drop(lease);
}

#[tokio::test]
async fn a_check_is_made_on_a_busy_connection_too() {
    let node = RedisNode::start().await;
    let set = Set::attentive([node.url()]).await.voting().await;
    let nodes = set.node_set();
    let client = client();
    node.flushall();
    // Never idle, and no fenced acquisition among them.
    let busy = async {
        loop {
            match client.acquire(&nodes, &once("r")).await {
                Ok(lease) => {
                    lease.release().await;
                }
                Err(error) => return error,
            }
        }
    };
    let error = tokio::time::timeout(SOON, busy).await.expect("a check");
    assert!(error.to_string().contains("may have forgotten"), "{error}");
}

#[tokio::test]
async fn a_fenced_acquisition_finds_a_flush_at_once() {
    for kind in [Kind::Plain, Kind::Read, Kind::Write] {
        finds_a_flush_at_once(kind).await;
    }
}

async fn finds_a_flush_at_once(kind: Kind) {
    let nodes = Nodes::start(3).await;
    let set = Set::with(nodes.urls(), RestartCheck::Standard, |options| {
        // No check comes by itself.
        options.heartbeat(SOON * 10)
    });
    let set = set.await.voting().await;
    let mut epochs = [0, 1].map(|index| set.epochs(index));
    let flushed = Instant::now();
    for node in nodes.iter().take(2) {
        node.flushall();
    }
    let fenced = once("r").kind(kind).fencing(true);
    let refused = client().acquire(&set.node_set(), &fenced).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("its marker is gone"), "{kind}: {text}");
    // As soon as the answer is there, and until the longest ttl has passed.
    let votes = set.votes();
    assert!(
        votes == [false, false, true] || flushed.elapsed() >= MAX_TTL,
        "{votes:?}"
    );
    // A node votes no as soon as it is in doubt. The check's next answer decides whether it forgot.
    for (index, epochs) in epochs.iter_mut().enumerate() {
        epochs.next().await;
        assert_eq!(set.nodes[index].epoch(), 1);
    }
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_fenced_acquisition_heeds_a_quarantine_it_has_not_heard_of() {
    let node = RedisNode::start().await;
    let set = Set::standard([node.url()]).await;
    let fenced = once("r").fencing(true);
    let lease = client().acquire(&set.node_set(), &fenced).await.unwrap();
    assert!(lease.fencing_token().is_some());
    lease.release().await;
    let mut marker = marker(&node);
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    (marker.since, marker.max_ttl, marker.cause) = (now, SOON, "it was flushed".into());
    node.set(MARKER, marker.to_bytes(), None);
    let refused = client().acquire(&set.node_set(), &fenced).await;
    refused.unwrap_err();
    set.until(0, Quarantined).await;
}

#[tokio::test]
async fn fenced_calls_that_go_together_are_refused_without_a_marker() {
    let node = Nodes::start(1).await;
    let set = Set::standard(node.urls()).await.node_set();
    let client = client();
    let held = client.acquire(&set, &once("held")).await.unwrap();
    node[0].command(["DEL", MARKER]);
    let before = node[0].calls("evalsha");
    let requests = ["a", "b", "c"].map(|name| once(name).fencing(true));
    let attempts = requests.each_ref();
    let attempts = attempts.map(|request| stand_in_line(&client, &set, request));
    drop(held);
    for refused in join_all(attempts).await {
        let text = refused.map(drop).unwrap_err().to_string();
        assert!(text.contains("its marker is gone"), "{text}");
    }
    // The release went with them, and was served.
    node.assert_no_lock_keys(SOON).await;
    assert_eq!(node[0].calls("evalsha"), before + 1);
}
