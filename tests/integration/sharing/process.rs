//! The readers and the writers of one process.

use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_tests::eventually;

use crate::core::fixture::{SOON, client, settle, start};
use crate::sharing::fixture::{patiently, reads, refused, until_entries, writes};

#[tokio::test]
async fn the_readers_of_a_process_have_an_entry_each() {
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        let client = client();
        let readers: Vec<_> = (0..16)
            .map(|_| {
                let (client, set) = (client.clone(), set.clone());
                tokio::spawn(async move { client.acquire(&set, &patiently(reads())).await })
            })
            .collect();
        let mut leases = Vec::new();
        for reader in readers {
            leases.push(reader.await.unwrap().unwrap());
        }
        settle(&set).await;
        until_entries(&nodes, 16).await;
        let last = leases.pop().unwrap();
        for lease in leases {
            assert_eq!(lease.release().await, Released::Confirmed);
        }
        assert_eq!(refused(&set, &writes()).await.0, Obstacle::Readers);
        assert_eq!(last.release().await, Released::Confirmed);
        nodes.assert_no_keys(SOON).await;
    }
}

/// A writer in the same process hands the lock to no writer while readers wait: the nodes say who is next.
#[tokio::test]
async fn writers_of_a_process_do_not_hand_the_lock_over() {
    let (nodes, set) = start(3).await;
    let client = client();
    let first = client.acquire(&set, &writes()).await.unwrap();
    let next = tokio::spawn({
        let (client, set) = (client.clone(), set.clone());
        async move { client.acquire(&set, &patiently(writes())).await }
    });
    eventually("a caller in line", SOON, async || {
        let waiting = first.waiting();
        (waiting == 1).then_some(()).ok_or(format!("{waiting}"))
    })
    .await;
    assert_ne!(first.release().await, Released::HandedOver);
    next.await.unwrap().unwrap().release().await;
    nodes.assert_no_keys(SOON).await;
}
