//! Locks that are kept for some time at least, however early they are released. The client's clock
//! is the test's own.

use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::node::Remaining;
use redlock_core::{Client, Lease, NodeSet, Request};
use redlock_tests::{Nodes, drop_after, eventually};

use crate::core::fixture::{SOON, client, once, settle, start};
use crate::core::still_clock::StillClock;

/// The servers' clocks go on: no test takes as long as a small part of these.
const TTL: Duration = Duration::from_secs(60 * 60);
const MIN_HOLD: Duration = Duration::from_secs(30 * 60);

fn kept() -> Request {
    let mut request = once("r").ttl(TTL);
    request.min_hold = MIN_HOLD;
    request
}

async fn held(set: &NodeSet, clock: &StillClock) -> Lease {
    let client = Client::with_settings(
        clock.environment(),
        redlock_core::Settings::default()
            .node_timeout(SOON)
            .key_prefix([]),
    );
    client.acquire(set, &kept()).await.unwrap()
}

/// How long each node keeps the key, once all that was sent has been served.
async fn left(nodes: &Nodes, set: &NodeSet) -> Vec<Option<Duration>> {
    settle(set).await;
    nodes.iter().map(|node| node.pttl("r").left()).collect()
}

fn is_shortened(left: &[Option<Duration>]) -> bool {
    let mut left = left.iter();
    left.all(|left| left.is_some_and(|left| left <= MIN_HOLD && left > MIN_HOLD / 2))
}

#[tokio::test]
async fn an_early_release_leaves_the_lock_for_the_rest_of_its_time() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let lease = held(&set, &clock).await;
    let handle = lease.handle();
    assert_eq!(lease.release().await, Released::LeftToExpire);
    assert!(handle.over().is_some(), "it is nobody's");
    let left = left(&nodes, &set).await;
    assert!(is_shortened(&left), "{left:?}");
    let refused = client().acquire(&set, &once("r")).await.unwrap_err();
    let AcquireError::Contended(contended) = refused else {
        panic!("{refused}");
    };
    let Remaining::Expires(left) = contended.holding.remaining() else {
        panic!("{contended}");
    };
    assert!(left <= MIN_HOLD, "{contended}");
}

#[tokio::test]
async fn a_late_release_deletes_the_keys() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let lease = held(&set, &clock).await;
    clock.advance(MIN_HOLD);
    assert_eq!(lease.release().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_lease_that_is_dropped_or_revoked_is_kept_alike() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    drop(held(&set, &clock).await);
    let dropped = left(&nodes, &set).await;
    assert!(is_shortened(&dropped), "{dropped:?}");
    for node in &nodes {
        node.del("r");
    }
    let lease = held(&set, &clock).await;
    assert_eq!(lease.revoke_and_release().await, Released::LeftToExpire);
    let revoked = left(&nodes, &set).await;
    assert!(is_shortened(&revoked), "{revoked:?}");
}

#[tokio::test]
async fn an_attempt_that_failed_leaves_nothing_for_any_time() {
    let (nodes, set) = start(3).await;
    for node in nodes.iter().take(2) {
        node.set("r", "foreign", Some(TTL));
    }
    client().acquire(&set, &kept()).await.unwrap_err();
    assert_eq!(left(&nodes, &set).await[2], None);
}

#[tokio::test]
async fn anothers_key_is_not_touched() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let lease = held(&set, &clock).await;
    settle(&set).await;
    nodes[0].del("r");
    nodes[0].set("r", "foreign", Some(TTL));
    nodes[1].del("r");
    assert_eq!(lease.release().await, Released::LeftToExpire);
    let left = left(&nodes, &set).await;
    assert!(left[0] > Some(MIN_HOLD), "{left:?}");
    assert_eq!(left[1], None);
    assert!(is_shortened(&left[2..]), "{left:?}");
}

#[tokio::test]
async fn the_longest_time_of_those_who_share_a_lock_counts() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let outer = Client::with_settings(
        clock.environment(),
        redlock_core::Settings::default()
            .node_timeout(SOON)
            .key_prefix([]),
    );
    let outer = outer.acquire(&set, &once("r").ttl(TTL)).await.unwrap();
    let mut inner = outer.join().unwrap();
    inner.cover(&kept()).await.unwrap();
    assert_eq!(inner.release().await, Released::NotLast);
    assert_eq!(outer.release().await, Released::LeftToExpire);
    let left = left(&nodes, &set).await;
    assert!(is_shortened(&left), "{left:?}");
}

#[tokio::test]
async fn a_release_may_be_dropped_at_any_await() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    for polls in 0..4 {
        let lease = held(&set, &clock).await;
        let _ = drop_after(polls, lease.release()).await;
        eventually("the shorter time", SOON, || async {
            let left = left(&nodes, &set).await;
            is_shortened(&left).then_some(()).ok_or(format!("{left:?}"))
        })
        .await;
        for node in &nodes {
            node.del("r");
        }
    }
}

#[tokio::test]
async fn one_who_joins_has_the_keys_for_its_whole_time() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let outer = Client::with_settings(
        clock.environment(),
        redlock_core::Settings::default()
            .node_timeout(SOON)
            .key_prefix([]),
    );
    let outer = outer.acquire(&set, &once("r").ttl(TTL)).await.unwrap();
    // Less is left than is to be kept, though more than nine tenths.
    clock.advance(TTL / 20);
    settle(&set).await;
    let rest = (TTL / 20 * 19).as_millis().to_string();
    for node in &nodes {
        node.command(["PEXPIRE", "r", rest.as_str()]);
    }
    let mut request = once("r").ttl(TTL);
    request.min_hold = TTL;
    let mut inner = outer.join().unwrap();
    inner.cover(&request).await.unwrap();
    drop(inner);
    assert_eq!(outer.release().await, Released::LeftToExpire);
    let left = left(&nodes, &set).await;
    assert!(
        left.iter().all(|left| *left > Some(TTL * 58 / 60)),
        "{left:?}"
    );
}

#[tokio::test]
async fn what_is_released_now_is_not_kept() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let lease = held(&set, &clock).await;
    assert_eq!(lease.release_now().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn an_extension_that_races_with_the_release_does_not_undo_the_shorter_time() {
    let (nodes, set) = start(3).await;
    for _ in 0..300 {
        let mut request = once("r").ttl(TTL);
        request.min_hold = MIN_HOLD;
        let lease = client().acquire(&set, &request).await.unwrap();
        let handle = lease.handle();
        let extending = std::thread::spawn(move || {
            let mut extending = std::pin::pin!(handle.extend(TTL));
            let waker = std::task::Waker::noop();
            let _ = extending
                .as_mut()
                .poll(&mut std::task::Context::from_waker(waker));
        });
        drop(lease);
        extending.join().unwrap();
        let left = left(&nodes, &set).await;
        assert!(is_shortened(&left), "{left:?}");
        for node in &nodes {
            node.del("r");
        }
    }
}
