//! One line a second and cause: which events are one cause, and that the next line counts those before it.

use std::time::Duration;

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, LockError, lock, redlock};
use tracing::Level;

use crate::capture::{Happening, captured};

/// A moment behind the end of the second that began with a line.
const SECOND: Duration = Duration::from_millis(1001);

/// The events of a function or of pools above debug: their texts, and how many each says were held back.
fn told(about: &str) -> Vec<(Level, String, u64)> {
    let is_told = |event: &Happening| event.level < Level::DEBUG;
    let events = captured().events(about).into_iter().filter(is_told);
    let parts = |event: Happening| {
        let held_back = event.fields.get("held_back");
        let held_back = held_back.map_or(0, |it| it.parse().unwrap());
        (event.level, event.message().to_owned(), held_back)
    };
    events.map(parts).collect()
}

#[redlock(resource = "held back", retry_count = 0, name = "held_back::refused")]
async fn is_refused() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_next_line_says_how_many_were_held_back() {
    captured();
    let locks = TestLocks::new();
    let _held = locks.other_client().hold("held back");
    for _ in 0..30 {
        is_refused().await.unwrap_err();
    }
    let line = |held_back| (Level::INFO, "not locked".to_owned(), held_back);
    assert_eq!(told("held_back::refused"), [line(0)]);
    for seconds in [1, 10] {
        tokio::time::sleep(SECOND * seconds).await;
        is_refused().await.unwrap_err();
    }
    let told = told("held_back::refused");
    assert_eq!(told, [line(0), line(29), line(0)]);
    let all = captured().events("held_back::refused").into_iter();
    let at_debug = all.filter(|it| it.level == Level::DEBUG && it.message() == "not locked");
    assert_eq!(at_debug.count(), 29);
}

#[redlock(resource = "{resource}", ttl = 1000, name = "held_back::charges")]
async fn charges(resource: &str) -> Result<(), LockError> {
    std::future::pending().await
}

#[redlock(resource = "{resource}", ttl = 1000, name = "held_back::ships")]
async fn ships(resource: &str) -> Result<(), LockError> {
    std::future::pending().await
}

/// Whose data is affected is in the log, also if all functions lose their locks at once.
#[tokio::test(start_paused = true)]
async fn each_function_that_loses_locks_has_a_line_for_each_reason() {
    captured();
    let locks = TestLocks::new();
    let lost = async |one: &str, other: &str, end: fn(&TestLocks)| {
        let bodies =
            async { tokio::join!(charges(one), charges(other), ships("held back: a parcel")) };
        let ending = async {
            locks.until_held("held back: a parcel").await;
            end(&locks);
        };
        let ((a, b, c), ()) = tokio::join!(bodies, ending);
        assert!(a.is_err() && b.is_err() && c.is_err());
    };
    let line = |text: &str, held_back| (Level::WARN, text.to_owned(), held_back);
    lost("held back: 1", "held back: 2", |_| {}).await;
    let text = "lost: the lock ended before its body";
    assert_eq!(told("held_back::charges"), [line(text, 0)]);
    assert_eq!(told("held_back::ships"), [line(text, 0)]);
    // Another reason is another cause.
    lost("held back: 3", "held back: 4", TestLocks::lose_all).await;
    assert_eq!(told("held_back::charges"), [line(text, 0), line(text, 0)]);
    let of_ships = captured().events("held_back::ships").into_iter();
    let of_ships = of_ships.filter(|it| it.level == Level::WARN);
    let reasons: Vec<_> = of_ships.map(|it| it.fields["reason"].clone()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons[0].contains("ttl") && reasons[1].contains("forgotten"),
        "{reasons:?}"
    );
}

/// A set of nodes that does not answer hides no other one.
#[tokio::test]
async fn each_set_of_pools_without_a_majority_has_a_line() {
    captured();
    let locks = TestLocks::with_config(Config::new().default_pools(["a", "b"]));
    for pools in [&["a"][..], &["b"], &["a", "b"]] {
        for pool in pools {
            locks.node(pool).cut();
        }
        let name = format!("held back on {}", pools.join(" and "));
        let wanted = lock(&*name).pools(pools.to_vec()).retry_count(0);
        assert!(wanted.acquire().await.unwrap_err().is_unavailable());
        let line = (Level::WARN, "not locked".to_owned(), 0);
        assert_eq!(told(&name), [line]);
    }
}

#[redlock(
    resource = "held back: skipped",
    if_locked = "skip",
    name = "held_back::skips"
)]
async fn skips() {}

#[redlock(
    resource = "held back: hourly",
    once_per = "1h",
    if_locked = "skip",
    name = "held_back::hourly"
)]
async fn hourly() {}

#[redlock(
    resource = "held back: hourly",
    once_per = "1h",
    name = "held_back::told"
)]
async fn told_of_the_run() -> Result<(), LockError> {
    Ok(())
}

/// What was planned is no news.
#[tokio::test(start_paused = true)]
async fn a_skipped_call_is_told_at_debug_and_a_refused_run_at_info() {
    captured();
    let locks = TestLocks::new();
    let held = locks.hold("held back: skipped");
    skips().await;
    drop(held);
    hourly().await;
    hourly().await;
    assert!(told_of_the_run().await.unwrap_err().is_already_run());
    for site in ["held_back::skips", "held_back::hourly"] {
        assert_eq!(told(site), []);
        let skipped = captured().events(site).into_iter();
        let skipped: Vec<_> = skipped.filter(|it| it.message() == "skipped").collect();
        assert_eq!(skipped.len(), 1, "{skipped:?}");
    }
    let expected = (Level::INFO, "not locked".to_owned(), 0);
    assert_eq!(told("held_back::told"), [expected]);
}
