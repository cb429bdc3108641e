//! Several clients for one resource.

use std::time::{Duration, Instant};

use redlock_core::error::AcquireError;
use redlock_core::request::RetryLimit;
use redlock_core::{Client, Resource};

use crate::core::fixture::{SOON, client, once, settle, start};
use crate::core::still_clock::StillClock;

#[tokio::test]
async fn a_waiting_budget_is_a_hard_bound() {
    let (nodes, set) = start(3).await;
    // Hung nodes: every wait is one for the clock, and the clock is the test's.
    nodes.iter().for_each(redlock_tests::RedisNode::freeze);
    let clock = StillClock::default();
    let client = Client::new(clock.environment());
    let mut request = once("r");
    request.retry.limit = RetryLimit::Wait(Duration::from_millis(300));
    request.retry.delay = Duration::from_millis(40);
    let acquiring = tokio::spawn(async move { client.acquire(&set, &request).await });
    let mut passed = 0;
    let began = Instant::now();
    while !acquiring.is_finished() {
        // At its end, another thread may still hold the last answer.
        assert!(began.elapsed() < SOON, "the budget has run out");
        tokio::task::yield_now().await;
        if passed < 300 {
            clock.advance(Duration::from_millis(1));
            passed += 1;
        }
        tokio::task::yield_now().await;
    }
    let error = acquiring.await.unwrap().unwrap_err();
    let AcquireError::Unavailable(unavailable) = error else {
        panic!("{error}")
    };
    assert!(unavailable.attempts >= 3, "{unavailable}");
    // Three attempts of a node timeout, and two pauses of half a delay at least.
    assert!(passed >= 190, "gave up after {passed} ms");
}

#[tokio::test]
async fn a_key_that_is_no_lock_is_said_to_be_so() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.set("forever", "left over", None);
        node.command(["LPUSH", "list", "x"]);
    }
    let text = client()
        .acquire(&set, &once("forever"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("never expires") && !text.contains("left over"),
        "{text}"
    );
    let text = client()
        .acquire(&set, &once("list"))
        .await
        .unwrap_err()
        .to_string();
    assert!(text.contains("not a string"), "{text}");
    for node in &nodes {
        assert_eq!(node.get("forever").as_deref(), Some(&b"left over"[..]));
        assert_eq!(node.keys().len(), 2);
    }
}

#[tokio::test]
async fn a_value_of_megabytes_is_a_refusal_and_nothing_behind_it_is_misread() {
    const FILL: &str = "return redis.call('SET', KEYS[1], string.rep('x', 4194304))";
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.command(["EVAL", FILL, "1", "big"]);
    }
    let client = client();
    for names in [&["big"][..], &["also", "big"]] {
        let request = once(Resource::all(names));
        let other = once("small");
        let (refused, acquired) =
            tokio::join!(client.acquire(&set, &request), client.acquire(&set, &other));
        let AcquireError::Contended(refused) = refused.unwrap_err() else {
            panic!("it is held");
        };
        assert_eq!(refused.holding.owner(), None, "nobody's token is so long");
        acquired.unwrap().release().await;
    }
    settle(&set).await;
    for node in &nodes {
        assert_eq!(node.get("big").map(|value| value.len()), Some(1 << 22));
        assert_eq!(node.keys().len(), 1);
    }
}

#[tokio::test]
async fn a_waiting_budget_is_used_up_also_without_a_delay() {
    let (nodes, set) = start(1).await;
    nodes[0].set("r", "someone", Some(Duration::from_millis(100)));
    let mut request = once("r");
    request.retry.limit = RetryLimit::Wait(SOON);
    request.retry.delay = Duration::ZERO;
    client()
        .acquire(&set, &request)
        .await
        .unwrap()
        .release()
        .await;
}

#[tokio::test]
async fn an_attempt_that_nobody_won_is_tried_again_where_that_is_asked_for() {
    let (nodes, set) = start(3).await;
    let attempts = async |holders: [&str; 3], splits| {
        for (node, holder) in nodes.iter().zip(holders) {
            node.del("r");
            if !holder.is_empty() {
                node.set("r", holder, Some(Duration::from_secs(60)));
            }
        }
        let mut request = once("r");
        request.retry.delay = Duration::from_millis(1);
        request.split_retries = splits;
        match client().acquire(&set, &request).await.unwrap_err() {
            AcquireError::Contended(contended) => contended.attempts,
            other => panic!("{other}"),
        }
    };
    assert_eq!(attempts(["one", "two", ""], 2).await, 3, "nobody has it");
    assert_eq!(attempts(["one", "two", "three"], 2).await, 3);
    assert_eq!(attempts(["one", "two", ""], 0).await, 1);
    assert_eq!(attempts(["one", "one", ""], 2).await, 1, "somebody has it");
    assert_eq!(attempts(["one", "two", "one"], 2).await, 1);
}
