//! Fencing tokens on real servers, and what must not count towards one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use redlock_core::quorum::COUNTER_IDLE;
use redlock_core::request::Kind;
use redlock_core::{Client, Lease, MemoryNode, Node, NodeSet, Request, Resource};
use redlock_tests::{Nodes, eventually};

use crate::core::fixture::{SOON, client, start};
use crate::core::still_clock::StillClock;

/// Where the counter of `r` is.
const COUNTER: &str = "redlock:fence:{r}";

fn fenced(resource: impl Into<Resource>) -> Request {
    let mut request = Request::new(resource).retries(0);
    request.fencing = true;
    request
}

fn token(lease: &Lease) -> u64 {
    lease
        .fencing_token()
        .expect("fencing was asked for")
        .as_u64()
}

fn counter(node: &redlock_tests::RedisNode) -> Option<u64> {
    let digits = String::from_utf8(node.get(COUNTER)?).unwrap();
    // Whole digits: a Lua number printed carelessly would be 1.7e15.
    Some(digits.parse().expect("a whole number"))
}

#[tokio::test]
async fn tokens_increase_from_holder_to_holder_and_are_about_the_time() {
    let (nodes, set) = start(3).await;
    let mut last = 0;
    for _ in 0..100 {
        let lease = client().acquire(&set, &fenced("r")).await.unwrap();
        assert!(token(&lease) > last, "{} after {last}", token(&lease));
        last = token(&lease);
        lease.extend(Duration::from_secs(90)).await.unwrap();
        assert_eq!(token(&lease), last, "an extension keeps the token");
        lease.release().await;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = u64::try_from(now.unwrap().as_micros()).unwrap();
    assert!(last.abs_diff(now) < 60_000_000, "{last} at {now}");
    nodes.assert_no_lock_keys(SOON).await;
    assert!(
        nodes.iter().any(|node| counter(node) == Some(last + 1)),
        "the counter stays when the lock goes"
    );
}

#[tokio::test]
async fn nodes_that_stand_apart_are_brought_to_one_number_before_the_lock_counts() {
    let (nodes, set) = start(2).await;
    let ahead = 9_000_000_000_000_000_u64;
    nodes[0].set(COUNTER, ahead.to_string(), None);
    let lease = client().acquire(&set, &fenced("r")).await.unwrap();
    assert_eq!(token(&lease), ahead + 1);
    assert_eq!(
        [counter(&nodes[0]), counter(&nodes[1])],
        [Some(ahead + 2); 2]
    );
    lease.release().await;
    let lease = client().acquire(&set, &fenced("r")).await.unwrap();
    assert_eq!(token(&lease), ahead + 3);
}

#[tokio::test]
async fn a_wild_clock_neither_pushes_counters_away_nor_lags_behind_them() {
    let (_nodes, set) = start(3).await;
    let sane = client().acquire(&set, &fenced("r")).await.unwrap();
    let first = token(&sane);
    sane.release().await;
    // Its wall clock is in 1970, then in the year 2286.
    for ahead in [Duration::ZERO, Duration::from_secs(10_000_000_000)] {
        let clock = StillClock::default();
        clock.advance(ahead);
        let wild = Client::new(clock.environment());
        let lease = wild.acquire(&set, &fenced("r")).await.unwrap();
        let second = token(&lease);
        assert!(second > first);
        assert!(second - first < 60_000_000, "{second} after {first}");
        lease.release().await;
        let lease = client().acquire(&set, &fenced("r")).await.unwrap();
        assert!(token(&lease) > second);
        lease.release().await;
    }
}

#[tokio::test]
async fn a_counter_that_nodes_lost_goes_on_from_the_time() {
    let (nodes, set) = start(3).await;
    let mut last = 0;
    for round in 0..20 {
        // One, two or all of them; also what is no number, and what is no string.
        for node in nodes.iter().take(round % 4) {
            node.del(COUNTER);
            let garbage = [
                "",
                "no number",
                "1e300",
                "nan",
                "-5",
                "99999999999999999999",
            ];
            node.set(COUNTER, garbage[round % garbage.len()], None);
        }
        let lease = client().acquire(&set, &fenced("r")).await.unwrap();
        assert!(token(&lease) > last);
        last = token(&lease);
        lease.release().await;
    }
}

#[tokio::test]
async fn several_resources_have_one_token_above_all_of_theirs() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.set("redlock:fence:{b}", "9000000000000000", None);
    }
    let both = fenced(Resource::all(["a", "b"]));
    let lease = client().acquire(&set, &both).await.unwrap();
    assert_eq!(token(&lease), 9_000_000_000_000_001);
    lease.release().await;
    let lease = client().acquire(&set, &fenced("a")).await.unwrap();
    assert_eq!(token(&lease), 9_000_000_000_000_003);
    lease.release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_fenced_acquisition_dropped_at_any_await_leaves_no_key() {
    let (nodes, set) = start(2).await;
    let mut completed = 0;
    for polls in 0..12 {
        // Apart, so that there is a confirmation to be dropped in.
        nodes[polls % 2].set(COUNTER, "9000000000000000", None);
        nodes[1 - polls % 2].del(COUNTER);
        let (client, request) = (client(), fenced("r"));
        if let Some(lease) = redlock_tests::drop_after(polls, client.acquire(&set, &request)).await
        {
            completed += 1;
            drop(lease.unwrap());
        }
        nodes.assert_no_lock_keys(SOON).await;
    }
    assert!(completed > 0);
}

#[tokio::test]
async fn an_idle_counter_goes_away_and_outlives_its_lock() {
    let nodes = Nodes::start(1).await;
    let set = crate::core::fixture::connect(nodes.urls()).await;
    let long = Duration::from_secs(2 * 60 * 60);
    for (ttl, least) in [(Duration::from_secs(10), long / 2), (long, long)] {
        // On a clock that stands still: an attempt has no more time than a quarter of the ttl.
        let client = Client::new(StillClock::default().environment());
        let lease = client.acquire(&set, &fenced("r").ttl(ttl)).await.unwrap();
        eventually("an expiry of the counter", SOON, || async {
            match nodes[0].pttl(COUNTER).left() {
                Some(left) if left + Duration::from_secs(60) > least => Ok(()),
                left => Err(format!("{left:?}")),
            }
        })
        .await;
        lease.release().await;
    }
}

#[tokio::test]
async fn the_counter_of_a_held_lock_stays_however_long_it_is_renewed() {
    for kind in [Kind::Exclusive, Kind::Write, Kind::Read] {
        let clock = StillClock::default();
        clock.advance(COUNTER_IDLE);
        let node = MemoryNode::new("a", clock.environment().clock);
        let set: NodeSet = Arc::new([Arc::new(node.clone()) as Arc<dyn Node>]);
        let client = Client::new(clock.environment());
        let lease = client.acquire(&set, &fenced("r").kind(kind)).await.unwrap();
        for _ in 0..3 {
            lease.extend(COUNTER_IDLE).await.unwrap();
            clock.advance(COUNTER_IDLE / 2);
            let left = node.remaining(COUNTER.as_bytes());
            assert!(left >= Some(COUNTER_IDLE / 2), "{kind:?}: {left:?}");
        }
    }
}
