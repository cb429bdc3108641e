//! Fencing tokens on real servers, and what must not count towards one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use redlock_core::quorum::COUNTER_IDLE;
use redlock_core::request::Kind;
use redlock_core::testing::scripts;
use redlock_core::{Client, Lease, MemoryNode, Node, NodeSet, Request, Resource};
use redlock_tests::redis::Value;

use crate::core::fixture::{SOON, client, stand_in_line, start, unhurried};
use crate::core::still_clock::StillClock;

/// Where the counter of `r` is.
const COUNTER: &str = "redlock:fence:{r}";

fn fenced(resource: impl Into<Resource>) -> Request {
    Request::new(resource).retry_limit(0).fencing(true)
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
        nodes.iter().any(|node| counter(node) > Some(last)),
        "the counter stays when the lock goes"
    );
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
async fn the_counter_of_a_held_lock_stays_however_long_it_is_renewed() {
    for kind in [Kind::Plain, Kind::Write, Kind::Read] {
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

/// An older client takes the number below its count. Its script answers the count alone.
#[tokio::test]
async fn a_client_without_blocks_gets_no_number_of_a_block() {
    let (nodes, set) = start(1).await;
    let script = scripts().find(|it| it.name == "acquire-all").unwrap();
    let text = script.text().unwrap();
    let older = text
        .replace("local _, answer", "local answer")
        .replace("_, answer = counted", "answer = counted");
    assert_ne!(older, text);
    let (client, request) = (unhurried(), Request::new("r").fencing(true));
    let mut last = 0;
    let mut above = |number: u64| {
        assert!(number > last, "{number} after {last}");
        last = number;
    };
    for round in 0..50 {
        let mut lease = client.acquire(&set, &request).await.unwrap();
        for _ in 0..round % 5 {
            let next = stand_in_line(&client, &set, &request);
            above(token(&lease));
            lease.release().await;
            lease = next.await.unwrap();
        }
        above(token(&lease));
        lease.release().await;
        let hint = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros();
        let hint = hint.to_string();
        let call = ["EVAL", &older, "2", "r", COUNTER, "older", "60000", &hint];
        let call = call.into_iter().chain(["3600000", "1000000"]);
        let Value::Int(count) = nodes[0].command(call) else {
            panic!("not acquired");
        };
        above(count.unsigned_abs() - 1);
        nodes[0].del("r");
    }
}
