//! How many hold, and what it costs.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::Client;
use redlock_core::error::AcquireError;
use redlock_core::request::RetryLimit;
use redlock_tests::RedisCluster;

use super::{key, of, one_of};
use crate::core::fixture::{SOON, client, connect, settle, start};

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
    settle(&set).await;
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
