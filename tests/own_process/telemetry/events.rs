//! The events of a lease's life, and their levels.

use std::time::Duration;

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{lock, redlock};
use tracing::Level;

use crate::capture::captured;

#[redlock(resource = "{resource}", if_locked = "skip", name = "events::skips")]
async fn skips(resource: &str) {
    std::future::ready(()).await;
}

fn levels(text: &str) -> Vec<(Level, String)> {
    let events = captured().events(text).into_iter();
    events
        .map(|event| (event.level, event.message().to_owned()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_usual_is_debug_and_a_swallowed_error_an_error() {
    captured();
    let locks = TestLocks::new();
    let lease = lock("usual events").acquire().await.unwrap();
    lease.extend(Duration::from_secs(30)).await.unwrap();
    let other = lock("usual events").retry_count(0).acquire().await;
    assert!(other.is_err());
    lease.release().await;
    let expected = [
        (Level::DEBUG, "locked".to_owned()),
        (Level::DEBUG, "extended".to_owned()),
        (Level::INFO, "not locked".to_owned()),
    ];
    assert_eq!(levels("usual events"), expected);

    locks.cut_all();
    skips("unavailable events").await;
    let levels: Vec<_> = levels("unavailable events")
        .into_iter()
        .map(|it| it.0)
        .collect();
    assert_eq!(levels, [Level::WARN, Level::ERROR]);
}

/// A load balancer's worth of requests must not fill the log with what one line a second says.
#[tokio::test]
async fn a_failed_request_is_an_error_only_if_it_needs_mending() {
    captured();
    let locks = TestLocks::new();
    let ask = async |resource: &'static str| {
        let error = lock(resource).retry_count(0).acquire().await.unwrap_err();
        let by_axum = axum::response::IntoResponse::into_response(error.clone());
        let by_actix = actix_web::ResponseError::error_response(&error);
        assert_eq!(by_axum.status().as_u16(), by_actix.status().as_u16());
    };
    let _held = locks.hold("a held request");
    ask("a held request").await;
    ask("redlock:of a request").await;
    locks.cut_all();
    ask("a request without nodes").await;
    locks.shutdown().await;
    ask("a late request").await;
    let text = "a request failed because of its lock";
    let told = levels("redlock:of a request").into_iter();
    let told: Vec<_> = told.filter(|(_, its)| its == text).collect();
    // The other response says the same, and is held back.
    assert!(told.len() == 2 && told[0].0 == Level::ERROR, "{told:?}");
    for text in [
        "a held request",
        "a request without nodes",
        "a late request",
    ] {
        let told = levels(text);
        assert!(
            told.iter().all(|(level, _)| *level != Level::ERROR),
            "{told:?}"
        );
    }
}
