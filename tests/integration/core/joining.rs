//! Several holders of one lock. The clock is the test's own.

use std::time::Duration;

use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::internal::announce_shutdown;
use redlock_core::lease::Released;
use redlock_core::request::MaxHold;
use redlock_core::{Client, Lease, NodeSet};
use redlock_tests::{Nodes, drop_after, wait_until};

use crate::core::fixture::{SOON, once, settle, start};
use crate::core::still_clock::StillClock;

const TTL: Duration = Duration::from_secs(60);

async fn held(set: &NodeSet, clock: &StillClock) -> Lease {
    let acquired = clock.client().acquire(set, &once("r").ttl(TTL)).await;
    acquired.unwrap()
}

/// Starts servers, and acquires on a clock that stands still.
async fn scene() -> ((Nodes, NodeSet), StillClock, Lease) {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let lease = held(&set, &clock).await;
    ((nodes, set), clock, lease)
}

/// How long the key on the first node has left at most, once all that was sent has been served.
async fn left_on_nodes(nodes: &Nodes, set: &NodeSet) -> Duration {
    settle(set).await;
    nodes[0].pttl("r").left().expect("the key")
}

/// Makes an extension show: afterwards the keys have half a minute left.
async fn shorten(nodes: &Nodes, set: &NodeSet) {
    settle(set).await;
    for node in nodes {
        node.command(["PEXPIRE", "r", "30000"]);
    }
}

#[tokio::test]
async fn a_holder_that_joins_a_fresh_lease_sends_nothing() {
    let ((nodes, set), clock, outer) = scene().await;
    shorten(&nodes, &set).await;
    clock.advance(TTL / 20);
    let mut inner = outer.join().unwrap();
    inner.cover(&once("r").ttl(TTL)).await.unwrap();
    assert!(left_on_nodes(&nodes, &set).await <= Duration::from_secs(30));
    assert_eq!(inner.release().await, Released::NotLast);
    assert_eq!(outer.release().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn one_that_needs_longer_extends_the_lease_for_all() {
    let ((nodes, set), clock, outer) = scene().await;
    clock.advance(TTL / 2);
    let mut inner = outer.join().unwrap();
    inner.cover(&once("r").ttl(TTL)).await.unwrap();
    let whole = Duration::from_secs(60 - 1);
    assert!(outer.validity() > whole, "{:?}", outer.validity());
    assert!(left_on_nodes(&nodes, &set).await > Duration::from_secs(40));

    let mut short = outer.join().unwrap();
    short
        .cover(&once("r").ttl(Duration::from_secs(5)))
        .await
        .unwrap();
    assert!(outer.validity() > whole, "{:?}", outer.validity());
}

#[tokio::test]
async fn a_least_validity_counts_for_one_who_joins() {
    let (_servers, clock, outer) = scene().await;
    clock.advance(Duration::from_secs(3));
    // Nine tenths are left, but that is not enough here.
    let request = once("r").ttl(TTL).min_validity(Duration::from_secs(59));
    let mut inner = outer.join().unwrap();
    inner.cover(&request).await.unwrap();
    assert!(inner.validity() >= Duration::from_secs(59));
}

#[tokio::test]
async fn a_renewal_of_one_who_joined_ends_when_that_one_leaves() {
    let ((nodes, set), clock, outer) = scene().await;
    let request = once("r").ttl(TTL).max_hold(MaxHold::Unlimited);
    let mut inner = outer.join().unwrap();
    inner.cover(&request).await.unwrap();
    for _ in 0..3 {
        let before = outer.validity();
        clock.advance(TTL / 2);
        let is_renewed = |left: &Duration| *left + TTL / 2 > before;
        wait_until("the renewal", || outer.validity(), is_renewed).await;
    }
    assert_eq!(inner.release().await, Released::NotLast);
    shorten(&nodes, &set).await;
    clock.advance(TTL / 2);
    assert!(left_on_nodes(&nodes, &set).await <= Duration::from_secs(30));
    clock.advance(TTL);
    assert_eq!(outer.lost().await, LeaseEnd::Expired);
}

#[tokio::test]
async fn nobody_joins_a_lease_that_is_over() {
    let (_servers, clock, outer) = scene().await;
    let handle = outer.handle();
    let mut inner = outer.join().unwrap();
    clock.advance(TTL);
    assert!(handle.join().is_none(), "expired");
    let refused = inner.cover(&once("r").ttl(TTL)).await.unwrap_err();
    assert!(
        matches!(refused, ExtendError::Ended(LeaseEnd::Expired)),
        "{refused}"
    );
    drop(inner);
    outer.release().await;
    assert!(handle.join().is_none(), "released");
}

#[tokio::test]
async fn an_extension_without_a_majority_is_tried_again_as_asked() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let client = Client::new(clock.environment());
    let outer = client.acquire(&set, &once("r").ttl(TTL)).await.unwrap();
    clock.advance(TTL / 2);
    nodes[0].kill();
    nodes[1].kill();
    let request = once("r").ttl(TTL).retry_limit(3);
    let mut inner = outer.join().unwrap();
    let covering = inner.cover(&request);
    let refused = with_clock_running(&clock, covering).await.unwrap_err();
    let ExtendError::Unavailable(refused) = refused else {
        panic!("{refused}");
    };
    assert_eq!(refused.attempts, 4);
    assert!(outer.over().is_none(), "the old validity still stands");
}

/// Polls `work` while the clock goes on, a millisecond a round.
async fn with_clock_running<F: Future>(clock: &StillClock, work: F) -> F::Output {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            () = tokio::task::yield_now() => clock.advance(Duration::from_millis(1)),
        }
    }
}

#[tokio::test]
async fn joining_may_be_dropped_at_any_await() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    for polls in 0..6 {
        let outer = held(&set, &clock).await;
        clock.advance(TTL / 2);
        let mut inner = outer.join().unwrap();
        let request = once("r").ttl(TTL).max_hold(MaxHold::For(TTL));
        let _ = drop_after(polls, inner.cover(&request)).await;
        drop(inner);
        assert!(outer.over().is_none());
        assert_eq!(outer.release().await, Released::Confirmed);
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn expiring_comes_when_a_third_is_left_of_what_was_extended() {
    let (_servers, clock, lease) = scene().await;
    let whole = lease.validity();
    let is_expiring = async || drop_after(1, lease.expiring()).await.is_some();
    clock.advance(whole / 2);
    assert!(!is_expiring().await);
    lease.extend(TTL).await.unwrap();
    clock.advance(whole / 2);
    assert!(!is_expiring().await, "extended meanwhile");
    clock.advance(whole / 6 + Duration::from_millis(1));
    lease.expiring().await;
    assert!(lease.over().is_none(), "ahead of the end");
    assert!(lease.validity() <= whole / 3);
}

#[tokio::test]
async fn expiring_comes_at_once_at_an_end_or_at_a_shutdown() {
    let (_servers, _clock, lease) = scene().await;
    let handle = lease.handle();
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.expiring().await }
    });
    announce_shutdown(&handle);
    waiting.await.unwrap();
    assert!(handle.over().is_none());
    lease.release().await;
    handle.expiring().await;
}
