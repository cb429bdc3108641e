//! Several clients for one resource.

use std::time::{Duration, Instant};

use redlock_core::error::AcquireError;
use redlock_core::request::{Kind, RetryLimit};
use redlock_core::testing::permit_key;
use redlock_core::{Client, Resource};
use redlock_tests::{Nodes, Proxy, RedisNode, eventually};

use crate::core::fixture::{SOON, client, connect_with, impatient, once, patient, settle, start};
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

/// The bytes that the server has sent, and how often it has read whole values.
fn effort(node: &RedisNode) -> (u64, u64) {
    let sent = node.info("total_net_output_bytes").expect("a figure");
    let reads = node.calls("get") + node.calls("mget");
    (sent.parse().expect("a number"), reads)
}

#[tokio::test]
async fn a_value_of_megabytes_is_sent_once_and_then_its_beginning() {
    const MEGABYTES: usize = 1 << 22;
    for may_read_parts in [true, false] {
        let (nodes, set) = start(1).await;
        let node = &nodes[0];
        if !may_read_parts {
            node.command(["ACL", "SETUSER", "default", "-getrange"]);
        }
        let mut fenced = once("fenced");
        fenced.fencing = true;
        for request in [
            once("plain"),
            once(["also", "several"]),
            fenced,
            once("permits").kind(Kind::Permits(2)),
            once("read").kind(Kind::Read),
            once("write").kind(Kind::Write),
        ] {
            let mut keys = vec![request.resource.clone()];
            if let Kind::Permits(_) = request.kind {
                keys.push(permit_key(&request.resource, b"", 1));
            }
            for key in keys.iter().flat_map(Resource::names) {
                node.set(key, vec![b'x'; MEGABYTES], None);
            }
            let refused = || async {
                let (before, error) = (effort(node), client().acquire(&set, &request).await);
                assert!(matches!(error, Err(AcquireError::Contended(_))));
                settle(&set).await;
                let after = effort(node);
                (after.0 - before.0, after.1 - before.1)
            };
            let first = refused().await;
            assert!(first.0 > MEGABYTES as u64);
            // A caller that gave up has told the next one.
            let (bytes, reads) = refused().await;
            assert!(bytes < MEGABYTES as u64, "{}: {bytes} bytes", request.kind);
            assert_eq!(reads > 0, !may_read_parts, "{}", request.kind);
        }
    }
}

#[tokio::test]
async fn a_value_whose_answer_is_out_is_asked_for_by_its_beginning() {
    let nodes = Nodes::start(1).await;
    let proxy = Proxy::start(&nodes[0]).await;
    let mut options = patient();
    options.suspect_after = Duration::from_secs(5);
    let set = connect_with([proxy.url()], &options).await;
    nodes[0].set("r", "someone", None);
    let before = nodes[0].calls("eval");
    proxy.hold_to_client();
    eventually("a script in the place of the command", SOON, async || {
        let unanswered = impatient().acquire(&set, &once("r")).await;
        assert!(matches!(unanswered, Err(AcquireError::Unavailable(_))));
        let scripts = nodes[0].calls("eval") - before;
        (scripts > 0).then_some(()).ok_or("none".to_owned())
    })
    .await;
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
