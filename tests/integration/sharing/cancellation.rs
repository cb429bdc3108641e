//! Callers that go away at each await.

use redlock_core::Request;
use redlock_tests::drop_after;

use crate::core::fixture::{SOON, client, settle, start};
use crate::sharing::fixture::{
    INTENT, acquired, patiently, reads, until_entries, until_there, writes,
};

fn fenced(mut request: Request) -> Request {
    request.fencing = true;
    request
}

#[tokio::test]
async fn a_dropped_acquisition_leaves_nothing() {
    let (nodes, set) = start(3).await;
    for request in [reads(), writes(), fenced(reads()), fenced(writes())] {
        for polls in 1.. {
            let client = client();
            let outcome = drop_after(polls, client.acquire(&set, &request)).await;
            let is_done = outcome.is_some();
            drop(outcome.map(Result::unwrap));
            nodes.assert_no_lock_keys(SOON).await;
            settle(&set).await;
            if is_done {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_waiting_writer_that_is_dropped_takes_its_intent_back() {
    let (nodes, set) = start(3).await;
    let reader = acquired(&set, &reads()).await;
    for polls in 1..6 {
        let client = client();
        let request = patiently(writes());
        let waiting = tokio::spawn({
            let set = set.clone();
            async move {
                drop_after(polls, client.acquire(&set, &request))
                    .await
                    .is_none()
            }
        });
        // It is woken so often only if a node tells of a change.
        while !waiting.is_finished() {
            reader.extend(crate::sharing::fixture::TTL).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert!(waiting.await.unwrap());
        settle(&set).await;
        assert_eq!(nodes.values_of(INTENT), [None, None, None], "{polls} polls");
    }
    reader.release().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_waiting_reader_that_is_dropped_is_in_no_line() {
    let (nodes, set) = start(3).await;
    let writer = acquired(&set, &writes()).await;
    for polls in 1..4 {
        let client = client();
        let request = patiently(reads());
        assert!(
            drop_after(polls, client.acquire(&set, &request))
                .await
                .is_none()
        );
        assert_eq!(client.waiting(), 0);
    }
    writer.release().await;
    settle(&set).await;
    until_entries(&nodes, 0).await;
}

#[tokio::test]
async fn a_release_and_an_extension_that_are_dropped_are_sent() {
    let (nodes, set) = start(3).await;
    for request in [reads(), writes()] {
        let lease = acquired(&set, &request).await;
        settle(&set).await;
        let _ = drop_after(1, lease.extend(request.ttl * 2)).await;
        settle(&set).await;
        let left = nodes[0].pttl("r").left().expect("an expiry");
        assert!(left > request.ttl, "{left:?}");
        let _ = drop_after(1, lease.release()).await;
        nodes.assert_no_keys(SOON).await;
    }
}

/// The intent of a writer that waits is one and the same from attempt to attempt.
#[tokio::test]
async fn the_release_of_a_failed_attempt_leaves_the_intent() {
    let (nodes, set) = start(1).await;
    let reader = acquired(&set, &reads()).await;
    let client = client();
    let mut request = patiently(writes());
    request.retry.delay = std::time::Duration::from_millis(40);
    let waiting = tokio::spawn({
        let set = set.clone();
        async move { client.acquire(&set, &request).await }
    });
    until_there(&nodes, INTENT).await;
    let id = nodes[0].get(INTENT);
    let attempts = || {
        let stats = nodes[0].info("cmdstat_evalsha").unwrap_or_default();
        let calls = stats.split([',', '=']).nth(1);
        calls
            .and_then(|calls| calls.parse::<u64>().ok())
            .unwrap_or(0)
    };
    // Each attempt is an acquisition and a release.
    let until = attempts() + 8;
    redlock_tests::eventually("attempts", SOON, async || {
        assert_eq!(nodes[0].get(INTENT), id);
        let so_far = attempts();
        (so_far >= until).then_some(()).ok_or(format!("{so_far}"))
    })
    .await;
    reader.release().await;
    waiting.await.unwrap().unwrap().release().await;
    nodes.assert_no_keys(SOON).await;
}
