//! Grants that come late. The clock is the test's own.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use redlock_core::lease::Released;
use redlock_core::request::{Renewal, RetryLimit};
use redlock_core::{Client, Lease, Request};
use redlock_tests::{RedisNode, eventually};

use crate::core::fixture::{SOON, once, settle, start, until_voting};
use crate::core::still_clock::StillClock;

const TTL: Duration = Duration::from_secs(60);

fn renewed() -> Request {
    let mut request = once("r").ttl(TTL);
    request.renewal = Renewal::Unlimited;
    request
}

/// The same, tried for 200 µs.
fn hurried() -> Request {
    let mut request = renewed();
    request.retry.limit = RetryLimit::Wait(Duration::from_micros(200));
    request
}

/// Lets a third of the validity pass, and waits for the renewal.
async fn until_renewed(lease: &Lease, whole: Duration, clock: &StillClock) {
    clock.advance(lease.validity().saturating_sub(whole * 2 / 3));
    eventually("the renewal", SOON, || async {
        let left = lease.validity();
        (left == whole)
            .then_some(())
            .ok_or_else(|| format!("{left:?}, {:?}", lease.over()))
    })
    .await;
}

/// All nodes answer while the process stands still, for longer than it waits for them.
#[tokio::test]
async fn a_lease_that_was_won_behind_the_attempts_time_is_renewed() {
    for (request, still_for) in [(renewed(), 60), (hurried(), 1)] {
        let (nodes, set) = start(3).await;
        let clock = StillClock::default();
        let client = Client::new(clock.environment());
        let free = client.acquire(&set, &renewed()).await.unwrap();
        let whole = free.validity();
        free.release().await;
        settle(&set).await;
        nodes.iter().for_each(RedisNode::freeze);
        let mut acquiring = pin!(client.acquire(&set, &request));
        let is_done =
            poll_fn(|context| Poll::Ready(acquiring.as_mut().poll(context).is_ready())).await;
        assert!(!is_done);
        clock.jump(Duration::from_millis(still_for));
        nodes.iter().for_each(RedisNode::thaw);
        settle(&set).await;
        let lease = acquiring.await.unwrap();
        assert_eq!(lease.votes(), 3);
        for _ in 0..3 {
            until_renewed(&lease, whole, &clock).await;
        }
        assert_eq!(lease.release().await, Released::Confirmed);
        nodes.assert_no_keys(SOON).await;
    }
}

/// A lease rests on two of three, and the third grant comes behind its return.
#[tokio::test]
async fn a_third_grant_behind_the_return_makes_up_for_a_node_that_dies() {
    for (dying, comes_back) in [(0, false), (0, true), (1, false), (1, true)] {
        let (nodes, set) = start(3).await;
        let clock = StillClock::default();
        let client = Client::new(clock.environment());
        let free = client.acquire(&set, &renewed()).await.unwrap();
        let whole = free.validity();
        free.release().await;
        settle(&set).await;
        nodes[2].freeze();
        let lease = client.acquire(&set, &hurried()).await.unwrap();
        assert_eq!(lease.votes(), 2);
        clock.advance(Duration::from_millis(1));
        nodes[2].thaw();
        settle(&set).await;
        assert_eq!(lease.votes(), 3);
        nodes[dying].kill();
        until_voting(&set[dying], false).await;
        if comes_back {
            nodes[dying].restart().await;
            until_voting(&set[dying], true).await;
        }
        until_renewed(&lease, whole, &clock).await;
        until_renewed(&lease, whole, &clock).await;
        assert_eq!(lease.over(), None);
    }
}
