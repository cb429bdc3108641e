//! The readers of one process.

use std::collections::BTreeSet;
use std::time::Duration;

use redlock_core::Client;
use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_tests::eventually;

use crate::core::fixture::{SOON, client, settle, start};
use crate::core::still_clock::StillClock;
use crate::sharing::fixture::{
    INTENT, TTL, acquired, patiently, reads, refused, until_entries, until_there, writes,
};

/// A client whose readers have all the time to come.
fn still() -> Client {
    Client::new(StillClock::default().environment())
}

#[tokio::test]
async fn the_readers_of_a_process_share_one_entry() {
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        let client = still();
        let readers: Vec<_> = (0..64)
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
        until_entries(&nodes, 1).await;
        let ids: BTreeSet<_> = leases
            .iter()
            .map(|lease| lease.token_id().to_owned())
            .collect();
        assert_eq!((ids.len(), leases[0].holders()), (1, 64));
        let last = leases.pop().unwrap();
        for lease in leases {
            assert_eq!(lease.release().await, Released::NotLast);
        }
        assert_eq!(refused(&set, &writes()).await.0, Obstacle::Readers);
        assert_eq!(last.release().await, Released::Confirmed);
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_reader_gets_an_entry_of_its_own_if_the_lease_is_old_or_does_not_suit() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let client = Client::new(clock.environment());
    let first = client.acquire(&set, &reads()).await.unwrap();
    let mut fenced = reads();
    fenced.fencing = true;
    let fenced = client.acquire(&set, &fenced).await.unwrap();
    let longer = client.acquire(&set, &reads().ttl(TTL * 2)).await.unwrap();
    settle(&set).await;
    until_entries(&nodes, 3).await;
    let joined = client.acquire(&set, &reads().ttl(TTL * 2)).await.unwrap();
    assert_eq!(joined.token_id(), longer.token_id());
    clock.advance(Duration::from_millis(10));
    let later = client.acquire(&set, &reads().ttl(TTL * 2)).await.unwrap();
    assert_ne!(later.token_id(), longer.token_id());
    drop((first, fenced, longer, joined, later));
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_reader_does_not_share_past_a_writer_of_its_process() {
    let (nodes, set) = start(3).await;
    let client = still();
    let reader = client.acquire(&set, &reads()).await.unwrap();
    let writer = tokio::spawn({
        let (client, set) = (client.clone(), set.clone());
        async move { client.acquire(&set, &patiently(writes())).await }
    });
    until_there(&nodes, INTENT).await;
    let refused = client.acquire(&set, &reads()).await.unwrap_err();
    assert!(refused.to_string().contains("a writer of"), "{refused}");
    reader.release().await;
    writer.await.unwrap().unwrap().release().await;
    acquired(&set, &reads()).await.release().await;
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

#[tokio::test]
async fn shared_leases_are_renewed_once_and_not_once_a_holder() {
    let (nodes, set) = start(1).await;
    let client = client();
    let mut request = reads().ttl(Duration::from_secs(2));
    request.renewal = redlock_core::request::Renewal::Unlimited;
    let mut leases = Vec::new();
    for _ in 0..16 {
        leases.push(client.acquire(&set, &request).await.unwrap());
    }
    let scripts = || {
        let stats = nodes[0].info("cmdstat_evalsha").unwrap_or_default();
        let calls = stats.split([',', '=']).nth(1);
        calls
            .and_then(|calls| calls.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let ids: BTreeSet<_> = leases
        .iter()
        .map(|lease| lease.token_id().to_owned())
        .collect();
    let (before, entries) = (scripts(), ids.len() as u64);
    eventually("renewals", SOON, async || {
        let least = leases.iter().map(|lease| lease.extensions()).min();
        (least >= Some(3)).then_some(()).ok_or(format!("{least:?}"))
    })
    .await;
    let most = leases
        .iter()
        .map(|lease| lease.extensions())
        .max()
        .unwrap_or(0);
    // One extension each time for each entry, and one more that may just have been sent.
    let messages = scripts() - before;
    assert!(
        messages <= entries * u64::from(most + 1),
        "{messages} for {entries}, {most}"
    );
    drop(leases);
    nodes.assert_no_keys(SOON).await;
}
