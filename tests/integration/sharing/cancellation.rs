//! Callers that go away at each await.

use redlock_core::Request;
use redlock_tests::drop_after;

use crate::core::fixture::{SOON, client, settle, start};
use crate::sharing::fixture::{INTENT, acquired, patiently, reads, writes};

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
