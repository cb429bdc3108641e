//! Several clients for one resource.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redlock_core::{AcquireError, Client, RetryLimit};

use crate::fixture::{SOON, client, connect, once, start};
use crate::still_clock::StillClock;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_waiters_are_never_inside_together_and_all_get_their_turn() {
    let (nodes, set) = start(3).await;
    let inside = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let (set, inside) = (set.clone(), Arc::clone(&inside));
            tokio::spawn(async move {
                let mut request = once("hot");
                request.retry.limit = RetryLimit::Forever;
                request.retry.delay = Duration::from_millis(20);
                let lease = client().acquire(&set, &request).await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two inside");
                tokio::task::yield_now().await;
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                lease.release().await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_lock_is_acquired_exactly_when_a_majority_is_free() {
    for n in [3, 4] {
        let (nodes, set) = start(n).await;
        for held in 0_u32..1 << n {
            let holds = |seat: usize| held & (1 << seat) != 0;
            for (seat, node) in nodes.iter().enumerate() {
                if holds(seat) {
                    node.set("r", "someone", Some(Duration::from_secs(60)));
                }
            }
            let free = n - held.count_ones() as usize;
            let outcome = client().acquire(&set, &once("r")).await;
            assert_eq!(
                outcome.is_ok(),
                free > n / 2,
                "{held:0n$b} of {n}: {outcome:?}"
            );
            match outcome {
                Ok(lease) => {
                    lease.release().await;
                }
                Err(error) => assert!(matches!(error, AcquireError::Contended(_)), "{error}"),
            }
            // What is left is exactly what was there before.
            for (seat, node) in nodes.iter().enumerate() {
                if holds(seat) {
                    assert_eq!(node.get("r").as_deref(), Some(&b"someone"[..]));
                    node.del("r");
                }
            }
            nodes.assert_no_keys(SOON).await;
        }
    }
}

#[tokio::test]
async fn two_clients_on_two_nodes_settle_their_split_by_retry() {
    let (nodes, a_then_b) = start(2).await;
    let b_then_a = connect(nodes.urls().into_iter().rev()).await;
    for _ in 0..20 {
        let mut request = once("r");
        request.retry.limit = RetryLimit::Wait(SOON);
        request.retry.delay = Duration::from_millis(10);
        let one = async {
            client()
                .acquire(&a_then_b, &request)
                .await
                .unwrap()
                .release()
                .await;
        };
        let other = async {
            client()
                .acquire(&b_then_a, &request)
                .await
                .unwrap()
                .release()
                .await;
        };
        tokio::join!(one, other);
    }
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn an_even_split_is_refused_at_once() {
    let (nodes, set) = start(2).await;
    nodes[1].set("r", "someone", Some(Duration::from_secs(60)));
    let error = client().acquire(&set, &once("r")).await.unwrap_err();
    assert!(matches!(error, AcquireError::Contended(_)), "{error}");
    assert_eq!(nodes[0].get("r"), None);
}

#[tokio::test]
async fn a_zero_retry_delay_is_no_reason_to_panic() {
    let (nodes, set) = start(1).await;
    nodes[0].set("r", "someone", Some(Duration::from_millis(100)));
    let mut request = once("r").retries(u32::MAX);
    request.retry.delay = Duration::ZERO;
    client()
        .acquire(&set, &request)
        .await
        .unwrap()
        .release()
        .await;
}

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
    while !acquiring.is_finished() {
        assert!(passed < 300, "the budget has run out");
        tokio::task::yield_now().await;
        clock.advance(Duration::from_millis(1));
        passed += 1;
        tokio::task::yield_now().await;
    }
    let error = acquiring.await.unwrap().unwrap_err();
    let AcquireError::Unavailable(unavailable) = error else {
        panic!("{error}")
    };
    assert!(unavailable.attempts >= 3, "{unavailable}");
    assert!(passed > 200, "gave up after {passed} ms");
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
