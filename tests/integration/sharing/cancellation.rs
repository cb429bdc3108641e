//! Callers that go away at each await.

use redlock_tests::drop_after;

use crate::core::fixture::{SOON, client, settle, start};
use crate::sharing::fixture::{INTENT, TTL, TURN, acquired, patiently, reads, writes};

#[tokio::test]
async fn a_waiting_caller_that_is_dropped_takes_back_what_it_left() {
    let (nodes, set) = start(3).await;
    for (holder, waiter) in [(reads(), writes()), (writes(), reads())] {
        let holder = acquired(&set, &holder).await;
        for polls in 1..6 {
            let (client, set) = (client(), set.clone());
            let request = patiently(waiter.clone());
            let waiting = tokio::spawn(async move {
                let acquired = drop_after(polls, client.acquire(&set, &request)).await;
                settle(&set).await;
                acquired.is_none()
            });
            // It is woken so often only if a node tells of a change.
            while !waiting.is_finished() {
                holder.extend(TTL).await.unwrap();
                tokio::task::yield_now().await;
            }
            assert!(waiting.await.unwrap());
            for node in &nodes {
                let waiting: Vec<String> = node.try_command(["ZRANGE", TURN, "0", "-1"]).unwrap();
                assert!(waiting.iter().all(|name| name == "due"), "{polls} polls");
                assert_eq!(node.get(INTENT), None, "{polls} polls");
            }
        }
        holder.release().await;
    }
    nodes.assert_no_keys(SOON).await;
}
