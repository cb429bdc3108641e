//! The events of a lease's life, and their levels.

use std::time::{Duration, Instant};

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};
use tracing::Level;

use crate::capture::captured;
use crate::fixture::{registry, start};

#[redlock(resource = "{resource}", if_locked = "skip", name = "events::skips")]
async fn skips(resource: &str) {
    std::future::ready(()).await;
}

#[redlock(resource = "{resource}", ttl = 1000, name = "events::lost")]
async fn outlasts_its_lock(resource: &str) -> Result<(), LockError> {
    std::future::pending().await
}

fn levels(text: &str) -> Vec<(Level, String)> {
    let events = captured().events(text).into_iter();
    events
        .map(|event| (event.level, event.message().to_owned()))
        .collect()
}

#[tokio::test]
async fn the_usual_is_debug_and_what_needs_a_look_is_a_warning() {
    captured();
    let (_nodes, redlock) = start().await;
    let calls = async {
        let lease = lock("usual events").acquire().await.unwrap();
        lease.extend(Duration::from_secs(30)).await.unwrap();
        assert!(lock("usual events").acquire().await.is_err());
        lease.release().await;
    };
    registry(&redlock).scope(calls).await;
    let expected = [
        (Level::DEBUG, "locked".to_owned()),
        (Level::DEBUG, "extended".to_owned()),
        (Level::INFO, "not locked".to_owned()),
    ];
    assert_eq!(levels("usual events"), expected);
    redlock.shutdown().await;

    tokio::time::pause();
    let _locks = TestLocks::new();
    outlasts_its_lock("a lost event").await.unwrap_err();
    let lost = levels("a lost event");
    assert!(
        lost.contains(&(
            Level::WARN,
            "lost: the lock ended before its body".to_owned()
        )),
        "{lost:?}"
    );
}

#[tokio::test]
async fn that_no_majority_answers_is_a_warning_once_a_second_and_a_swallowed_error_an_error() {
    captured();
    let (nodes, redlock) = start().await;
    nodes[0].kill();
    nodes[1].kill();
    let calls = async {
        for _ in 0..20 {
            skips("unavailable events").await;
        }
    };
    let began = Instant::now();
    registry(&redlock).scope(calls).await;
    // The first one is a warning, and then one a second.
    let most = 1 + usize::try_from(began.elapsed().as_secs()).unwrap();
    let told = levels("unavailable events");
    let count = |level| told.iter().filter(|(its, _)| *its == level).count();
    assert!((1..=most).contains(&count(Level::ERROR)), "{told:?}");
    assert!((1..=most).contains(&count(Level::WARN)), "{told:?}");
    // There are two events for each call: it got no lock, and its caller got no error.
    let all = count(Level::ERROR) + count(Level::WARN) + count(Level::DEBUG);
    assert_eq!(all, 40, "{told:?}");
    redlock.shutdown().await;
}

/// A load balancer's worth of requests must not fill the log with what one line a second says.
#[tokio::test]
async fn a_request_that_gets_no_lock_is_an_error_in_the_log_only_where_somebody_has_to_mend_it() {
    captured();
    let (nodes, redlock) = start().await;
    let respond = |error: LockError| {
        let by_axum = axum::response::IntoResponse::into_response(error.clone());
        let by_actix = actix_web::ResponseError::error_response(&error);
        assert_eq!(by_axum.status().as_u16(), by_actix.status().as_u16());
    };
    let ask = |resource: &'static str| registry(&redlock).scope(lock(resource).acquire());
    let held = ask("a held request").await.unwrap();
    respond(ask("a held request").await.unwrap_err());
    drop(held);
    respond(ask("redlock:of a request").await.unwrap_err());
    nodes[0].kill();
    nodes[1].kill();
    respond(ask("a request without nodes").await.unwrap_err());
    let late = registry(&redlock);
    redlock.shutdown().await;
    let asking = late.scope(lock("a late request").acquire());
    respond(asking.await.unwrap_err());
    let text = "a request failed because of its lock";
    let told = levels("redlock:of a request").into_iter();
    let told: Vec<_> = told.filter(|(_, its)| its == text).collect();
    // The other response says the same, and is held back.
    assert!(told.len() == 2 && told[0].0 == Level::ERROR, "{told:?}");
    let errors = |text| {
        let told = levels(text).into_iter();
        told.filter(|(level, _)| *level == Level::ERROR).count()
    };
    assert_eq!(errors("a held request"), 0);
    assert_eq!(errors("a request without nodes"), 0);
    assert_eq!(errors("a late request"), 0);
}
