//! How many hold, and what it costs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redlock_core::Client;
use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::request::RetryLimit;
use redlock_tests::RedisCluster;

use super::{held_at, key, of, one_of};
use crate::core::fixture::{SOON, client, connect, settle, start};

#[tokio::test]
async fn as_many_hold_as_there_are_permits() {
    let (nodes, set) = start(3).await;
    let clients = [client(), client()];
    let mut leases = Vec::new();
    for n in 0..5 {
        let lease = clients[n % 2].acquire(&set, &one_of(5)).await.unwrap();
        // One round trip, also for the last permit.
        assert_eq!(lease.attempts(), 1);
        leases.push(lease);
        settle(&set).await;
    }
    let numbers: BTreeSet<_> = leases.iter().filter_map(|lease| lease.permit()).collect();
    assert_eq!(numbers, (0..5).collect());
    for client in &clients {
        let refused = client.acquire(&set, &one_of(5)).await.unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("full: all 5 permits are held, the first to expire by "),
            "{refused}"
        );
    }
    for node in &nodes {
        assert_eq!(held_at(node), [0, 1, 2, 3, 4]);
    }
    for lease in leases {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    settle(&set).await;
    assert_eq!(nodes.all_keys(), [b""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn never_more_hold_than_there_are_permits_while_many_come_and_go() {
    const PERMITS: u16 = 3;
    let (nodes, set) = start(3).await;
    let holders = Arc::new(AtomicUsize::new(0));
    let owners: Arc<[AtomicUsize; PERMITS as usize]> = Arc::default();
    let workers: Vec<_> = (0..4)
        .flat_map(|_| {
            let client = client();
            (0..3).map(move |_| client.clone())
        })
        .map(|client| {
            let (set, holders, owners) =
                (Arc::clone(&set), Arc::clone(&holders), Arc::clone(&owners));
            tokio::spawn(async move {
                let mut request = one_of(PERMITS);
                request.retry.limit = RetryLimit::Forever;
                request.retry.delay = Duration::from_millis(20);
                for _ in 0..25 {
                    let lease = client.acquire(&set, &request).await.unwrap();
                    let permit = usize::from(lease.permit().unwrap());
                    let most = holders.fetch_add(1, Ordering::SeqCst) + 1;
                    assert!(most <= usize::from(PERMITS), "{most} holders");
                    assert_eq!(
                        owners[permit].fetch_add(1, Ordering::SeqCst),
                        0,
                        "permit {permit}"
                    );
                    tokio::task::yield_now().await;
                    owners[permit].fetch_sub(1, Ordering::SeqCst);
                    holders.fetch_sub(1, Ordering::SeqCst);
                    lease.release().await;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_plain_set_nx_client_counts_as_one_holder() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.set("r", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", Some(SOON));
    }
    let client = client();
    let lease = client.acquire(&set, &one_of(2)).await.unwrap();
    assert_eq!(lease.permit(), Some(1));
    let refused = client
        .acquire(&set, &one_of(2))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused
            .starts_with("full: all 2 permits are held, the first to expire by another client for"),
        "{refused}"
    );
    for node in &nodes {
        node.del("r");
    }
    let first = client.acquire(&set, &one_of(2)).await.unwrap();
    assert_eq!(first.permit(), Some(0));
    for node in &nodes {
        let taken: Option<String> = node
            .try_command(["SET", "r", "foreign", "NX", "PX", "1000"])
            .expect("SET");
        assert_eq!(taken, None, "the plain client is kept out in turn");
    }
}

#[tokio::test]
async fn a_key_of_any_type_is_not_free() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.command(["LPUSH", &*key(1), "x"]);
        node.command(["LPUSH", &*key(2), "x"]);
    }
    let client = client();
    let lease = client.acquire(&set, &one_of(3)).await.unwrap();
    assert_eq!(lease.permit(), Some(0));
    lease.release().await;
    for node in &nodes {
        node.command(["LPUSH", "r", "x"]);
    }
    let refused = client
        .acquire(&set, &one_of(3))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("not a string"), "{refused}");
}

#[tokio::test]
async fn a_waiter_of_another_process_is_woken_by_the_release_of_any_permit() {
    let (_nodes, set) = start(3).await;
    let (one, other) = (client(), client());
    let mut leases = Vec::new();
    for _ in 0..8 {
        leases.push(one.acquire(&set, &one_of(8)).await.unwrap());
    }
    for _ in 0..3 {
        let mut waiting = one_of(8);
        waiting.retry.limit = RetryLimit::Forever;
        // It would look again in an hour.
        waiting.retry.delay = Duration::from_secs(3600);
        let (other, set) = (other.clone(), Arc::clone(&set));
        let waiter = tokio::spawn(async move { other.acquire(&set, &waiting).await });
        // Another process holds all, so whenever the waiter comes, a release has to reach it.
        tokio::task::yield_now().await;
        let freed = leases.remove(0);
        let permit = freed.permit();
        freed.release().await;
        let woken = tokio::time::timeout(SOON, waiter).await.expect("woken");
        let woken = woken.unwrap().unwrap();
        assert_eq!(woken.permit(), permit);
        leases.push(woken);
    }
}

#[tokio::test]
async fn permits_of_a_cluster_are_in_one_slot() {
    let cluster = RedisCluster::start(0).await;
    let set = connect([cluster.url()]).await;
    let client = client();
    for name in ["reports", "{tenant}:reports", "größe"] {
        let request = of(16, name);
        let mut leases = Vec::new();
        for _ in 0..16 {
            leases.push(client.acquire(&set, &request).await.unwrap());
        }
        let refused = client.acquire(&set, &request).await.unwrap_err();
        assert!(matches!(refused, AcquireError::Contended(_)), "{refused}");
        drop(leases);
    }
    cluster.assert_no_lock_keys(SOON).await;
    let stray = client.acquire(&set, &of(2, "a}b")).await.unwrap_err();
    assert!(stray.to_string().contains("`permits`"), "{stray}");
}

#[tokio::test]
async fn the_largest_number_of_permits_is_taken_and_given_back() {
    let (nodes, set) = start(3).await;
    let client: Client = client();
    let mut leases = Vec::new();
    for _ in 0..256 {
        let lease = client.acquire(&set, &one_of(256)).await.unwrap();
        leases.push(lease);
        settle(&set).await;
    }
    assert!(client.acquire(&set, &one_of(256)).await.is_err());
    drop(leases);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    let (nodes, set) = start(3).await;
    let client = client();
    for _ in 0..3 {
        nodes
            .iter()
            .for_each(redlock_tests::RedisNode::script_flush);
        let lease = client.acquire(&set, &one_of(4)).await.unwrap();
        nodes
            .iter()
            .for_each(redlock_tests::RedisNode::script_flush);
        lease.release().await;
    }
    nodes.assert_no_lock_keys(SOON).await;
}
