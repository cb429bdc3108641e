//! Every kind of lock, on servers.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_core::request::{Kind, Note};
use redlock_core::{NodeSet, Request};

use crate::core::fixture::{SOON, client, once, settle, start};

const TTL: Duration = Duration::from_secs(300);

/// Nobody tries again by itself: what ends the wait is a report of the nodes.
fn woken(request: Request) -> Request {
    request
        .retry_limit(1)
        .retry_delay(Duration::from_secs(3600))
}

/// Returns what keeps another client out, and the text of the refusal.
pub(crate) async fn refused(set: &NodeSet, request: &Request) -> (Obstacle, String) {
    let refused = client().acquire(set, request).await.unwrap_err();
    let AcquireError::Contended(contended) = &refused else {
        panic!("{refused}");
    };
    (contended.holding.obstacle, refused.to_string())
}

/// Takes locks of each kind on `set`, sees which others they exclude, has others wait for them, and releases
/// them. All names begin with `base`.
pub(crate) async fn each_kind_excludes_and_is_released(set: &NodeSet, base: &str) {
    permits(set, base).await;
    for fencing in [false, true] {
        readers_and_writers(set, base, fencing).await;
        a_set_with_a_note(set, base, fencing).await;
    }
}

async fn permits(set: &NodeSet, base: &str) {
    let request = once(format!("{base}:p"));
    let request = request.kind(Kind::Permits(2)).ttl(TTL);
    let two = client().acquire(set, &request).await.unwrap();
    let one = client().acquire(set, &request).await.unwrap();
    assert_ne!(two.permit(), one.permit());
    let (_, text) = refused(set, &request).await;
    assert!(text.starts_with("full: all 2 permits are held"), "{text}");
    two.extend(TTL * 2).await.unwrap();
    let waiting = {
        let (set, request) = (Arc::clone(set), woken(request));
        tokio::spawn(async move { client().acquire(&set, &request).await })
    };
    assert_eq!(one.release().await, Released::Confirmed);
    let next = tokio::time::timeout(SOON, waiting).await;
    let next = next.expect("a wake-up").unwrap().unwrap();
    for lease in [two, next] {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
}

async fn readers_and_writers(set: &NodeSet, base: &str, fencing: bool) {
    let request = |kind| {
        once(format!("{base}:r"))
            .kind(kind)
            .ttl(TTL)
            .fencing(fencing)
    };
    let first = client().acquire(set, &request(Kind::Read)).await.unwrap();
    let second = client().acquire(set, &request(Kind::Read)).await.unwrap();
    for kind in [Kind::Write, Kind::Plain] {
        let (obstacle, text) = refused(set, &request(kind)).await;
        assert_eq!(obstacle, Obstacle::Readers, "{text}");
    }
    first.extend(TTL * 2).await.unwrap();
    let waiting = {
        let (set, request) = (Arc::clone(set), woken(request(Kind::Write)));
        tokio::spawn(async move { client().acquire(&set, &request).await })
    };
    for reader in [first, second] {
        assert_eq!(reader.release().await, Released::Confirmed);
    }
    let writer = tokio::time::timeout(SOON, waiting).await;
    let writer = writer.expect("a wake-up").unwrap().unwrap();
    assert_eq!(writer.fencing_token().is_some(), fencing);
    let (obstacle, text) = refused(set, &request(Kind::Read)).await;
    assert_eq!(obstacle, Obstacle::Holder, "{text}");
    writer.extend(TTL * 2).await.unwrap();
    assert_eq!(writer.release().await, Released::Confirmed);
}

async fn a_set_with_a_note(set: &NodeSet, base: &str, fencing: bool) {
    let [a, b] = ["a", "b"].map(|name| format!("{base}:{name}"));
    let request = once([&a, &b])
        .ttl(TTL)
        .fencing(fencing)
        .note(Note::new("a job"));
    let lease = client().acquire(set, &request).await.unwrap();
    let (_, text) = refused(set, &once(b)).await;
    assert!(text.contains("(`a job`)"), "{text}");
    let status = client().peek(set, &a.into()).await.unwrap();
    let holder = status.holder().expect("held");
    assert_eq!(holder.note(), request.note, "{status}");
    assert_eq!(lease.release().await, Released::Confirmed);
}

#[tokio::test]
async fn the_largest_number_of_permits_is_taken_and_given_back() {
    let (nodes, set) = start(3).await;
    let (client, request) = (client(), once("r").kind(Kind::Permits(256)));
    let mut leases = Vec::new();
    for _ in 0..256 {
        leases.push(client.acquire(&set, &request).await.unwrap());
        settle(&set).await;
    }
    refused(&set, &request).await;
    drop(leases);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn each_kind_of_lock_excludes_and_is_released_on_servers() {
    for n in [1, 3] {
        let (nodes, set) = start(n).await;
        each_kind_excludes_and_is_released(&set, "kinds").await;
        nodes.assert_no_lock_keys(SOON).await;
    }
}
