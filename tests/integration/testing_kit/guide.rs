//! The tests that the guide shows, word for word.

// From here on
use std::time::Duration;

use axum::{Router, body::Body, extract::Path, http::Request, routing::post};
use redlock_runtime::{LockError, redlock, testing::TestLocks};
use tower::ServiceExt; // for `oneshot`

#[redlock(resource = "order:{id}", retry_count = 0)]
async fn charge(Path(id): Path<u64>) -> Result<String, LockError> {
    Ok(format!("order {id} charged"))
}

async fn status_of_a_charge() -> u16 {
    let app = Router::new().route("/orders/{id}/charge", post(charge));
    let request = Request::post("/orders/42/charge").body(Body::empty());
    app.oneshot(request.unwrap()).await.unwrap().status().into()
}

#[tokio::test]
async fn a_charge_locks_its_order() {
    let locks = TestLocks::new(); // nodes in memory, for this test only
    assert_eq!(status_of_a_charge().await, 200);
    locks.assert_locked("order:42");
    locks.assert_all_free(); // nothing leaked
}

#[tokio::test]
async fn a_second_charge_is_turned_away() {
    let locks = TestLocks::new();
    let hold = locks.hold("order:42"); // somebody else has it
    assert_eq!(status_of_a_charge().await, 423);
    hold.release();
    assert_eq!(status_of_a_charge().await, 200);
}

#[tokio::test]
async fn redis_is_down() {
    let locks = TestLocks::new();
    locks.node("a").cut(); // one of three changes nothing
    assert_eq!(status_of_a_charge().await, 200);
    locks.cut_all();
    assert_eq!(status_of_a_charge().await, 503);
}

#[redlock(resource = "report", ttl = "1m")]
async fn report(takes: Duration) -> Result<(), LockError> {
    tokio::time::sleep(takes).await;
    Ok(())
}

#[tokio::test(start_paused = true)] // hours pass in no time
async fn a_report_that_takes_too_long_is_cancelled() {
    let _locks = TestLocks::new();
    report(Duration::from_secs(30)).await.unwrap();
    let late = report(Duration::from_secs(3600)).await;
    assert!(late.unwrap_err().is_lost());
}
// Up to here

#[test]
fn the_guide_shows_these_tests() {
    let (_, rest) = include_str!("guide.rs")
        .split_once("// From here on\n")
        .unwrap();
    let (shown, _) = rest.split_once("// Up to here\n").unwrap();
    let page = include_str!("../../../redlock-runtime/guide/tasks/testing.md");
    assert!(
        page.contains(&format!("```rust\n{shown}```\n")),
        "the guide shows something else"
    );
}
