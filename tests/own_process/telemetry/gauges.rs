//! No gauge stays above zero, or goes below, whichever way a call ends.

#![expect(clippy::float_cmp, reason = "they are counts, and whole")]

use std::future::pending;
use std::time::Duration;

use redlock_runtime::{LockError, lock, redlock};
use redlock_tests::{drop_after, eventually};
use tokio::sync::Notify;

use crate::fixture::{SOON, figures, registry, start_with};

#[redlock(resource = "{of}", wait = "forever", name = "gauges::call")]
async fn call<F: Future>(of: &str, body: F) -> Result<F::Output, LockError> {
    Ok(body.await)
}

#[redlock(resource = "{of}", if_locked = "skip", name = "gauges::skip")]
async fn skip(of: &str) {
    std::future::ready(()).await;
}

const SITE: &str = "gauges::call";

async fn until(gauge: &str, value: f64) {
    eventually(gauge, SOON, || async {
        let now = figures().of_site(gauge, SITE);
        if now == value {
            Ok(())
        } else {
            Err(now.to_string())
        }
    })
    .await;
}

#[tokio::test]
async fn gauges_are_zero_again_whichever_way_calls_end() {
    figures();
    let no_grace = |config: redlock_runtime::Config| config.shutdown_grace(Duration::ZERO);
    let (_nodes, redlock) = start_with(no_grace).await;
    let scoped = || registry(&redlock);

    let panics = scoped().scope(call("gauges: panic", async { panic!("on purpose") }));
    let panicked: Result<Result<(), LockError>, _> = tokio::spawn(panics).await;
    assert!(panicked.unwrap_err().is_panic());

    drop(scoped().scope(call("gauges: not polled", async {})));

    // In line behind a holder of this process, and below a holder.
    let beside = async {
        let lease = lock("gauges: taken").acquire().await.unwrap();
        let waiting = call("gauges: taken", async {});
        assert!(drop_after(2, waiting).await.is_none());
        skip("gauges: taken").await;
        lease.release().await;
        let begun = Notify::new();
        let inner = async {
            begun.notify_one();
            pending::<()>().await;
        };
        let below = call("gauges: outer", call("gauges: outer", inner));
        tokio::select! {
            biased;
            ended = below => unreachable!("{ended:?}"),
            () = begun.notified() => {}
        }
    };
    scoped().scope(beside).await;
    until("redlock_held", 0.0).await;
    until("redlock_waiting", 0.0).await;

    // What a shutdown ends: a body, a caller in line behind it, and a bare lease.
    let bare = scoped().scope(lock("gauges: bare").acquire());
    let bare = bare.await.unwrap();
    let body = tokio::spawn(scoped().scope(call("gauges: shutdown", pending::<()>())));
    until("redlock_held", 1.0).await;
    let queued = tokio::spawn(scoped().scope(call("gauges: shutdown", async {})));
    until("redlock_waiting", 1.0).await;
    redlock.shutdown().await;
    assert!(body.await.unwrap().unwrap_err().is_lost());
    assert!(queued.await.unwrap().unwrap_err().is_shutting_down());
    drop(bare);

    let now = figures();
    for site in [SITE, "gauges::skip"] {
        for gauge in ["redlock_waiting", "redlock_held"] {
            assert_eq!(now.of_site(gauge, site), 0.0, "{gauge} of {site}");
        }
    }
    assert_eq!(now.outcome(SITE, "cancelled"), 1.0);
    assert_eq!(now.outcome(SITE, "shutting_down"), 1.0);
    assert_eq!(now.outcome(SITE, "joined"), 1.0);
    assert_eq!(now.outcome("gauges::skip", "skipped"), 1.0);
}
