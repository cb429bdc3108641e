//! No gauge stays above zero, or goes below, whichever way a call ends.

#![expect(clippy::float_cmp, reason = "they are counts, and whole")]

use std::future::pending;
use std::time::Duration;

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, LockError, lock, redlock};
use redlock_tests::drop_after;

use crate::fixture::figures;

#[redlock(resource = "{of}", wait = "forever", name = "gauges::call")]
async fn call<F: Future>(of: &str, body: F) -> Result<F::Output, LockError> {
    Ok(body.await)
}

#[redlock(resource = "{of}", if_locked = "skip", name = "gauges::skip")]
async fn skip(of: &str) {
    std::future::ready(()).await;
}

#[tokio::test]
async fn gauges_are_zero_again_whichever_way_calls_end() {
    figures();
    let locks = TestLocks::with_config(Config::new().shutdown_grace(Duration::ZERO));
    let gauges = || {
        let gauges = ["redlock_held", "redlock_waiting"];
        gauges.map(|gauge| figures().of_site(gauge, "gauges::call"))
    };
    let panics = tokio::spawn(call("panic", async { panic!("on purpose") }));
    let panicked: Result<Result<(), LockError>, _> = panics.await;
    assert!(panicked.unwrap_err().is_panic());

    drop(call("not polled", async {}));

    // In line behind a holder of this process, and below a holder.
    let lease = lock("taken").acquire().await.unwrap();
    assert!(drop_after(2, call("taken", async {})).await.is_none());
    skip("taken").await;
    lease.release().await;
    let below = tokio::spawn(call("outer", call("outer", pending::<()>())));
    locks.until_held("outer").await;
    below.abort();
    assert!(below.await.unwrap_err().is_cancelled());
    assert_eq!(gauges(), [0.0, 0.0]);

    // What a shutdown ends: a body, a caller in line behind it, and a bare lease.
    let _bare = lock("bare").acquire().await.unwrap();
    let body = tokio::spawn(call("shutdown", pending::<()>()));
    locks.until_held("shutdown").await;
    let queued = tokio::spawn(call("shutdown", async {}));
    locks.until_waiting("shutdown").await;
    assert_eq!(gauges(), [1.0, 1.0]);
    locks.shutdown().await;
    assert!(body.await.unwrap().unwrap_err().is_lost());
    assert!(queued.await.unwrap().unwrap_err().is_shutting_down());
    assert_eq!(gauges(), [0.0, 0.0]);
    let of_skip = |gauge| figures().of_site(gauge, "gauges::skip");
    assert_eq!(["redlock_held", "redlock_waiting"].map(of_skip), [0.0, 0.0]);
}
