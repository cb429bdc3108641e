//! Locks on a clock that a test owns.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{LockError, lock, redlock};
use tokio::time::{Instant, advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);

#[redlock(resource = "short", ttl = "1m", retry_count = 0)]
async fn sleeps(time: Duration) -> Result<(), LockError> {
    sleep(time).await;
    Ok(())
}

#[redlock(resource = "long", ttl = "30s", max_hold = "1h", retry_count = 0)]
async fn is_renewed(time: Duration) -> Result<(), LockError> {
    sleep(time).await;
    Ok(())
}

#[redlock(resource = "queue", wait = "5m", retry_delay = "1s")]
async fn waits() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "tries", retry_count = 3, retry_delay = "10s")]
async fn tries() -> Result<(), LockError> {
    Ok(())
}

fn is_expired(error: &LockError) -> bool {
    matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Expired))
}

#[tokio::test(start_paused = true)]
async fn a_lease_expires_when_the_clock_is_advanced() {
    let locks = TestLocks::new();
    let lease = lock("r").ttl(MINUTE).acquire().await.unwrap();
    advance(MINUTE / 2).await;
    assert!(!lease.validity().is_zero());
    locks.assert_held("r");
    assert!(lock("r").retry_count(0).acquire().await.is_err());
    advance(MINUTE / 2).await;
    assert!(lease.validity().is_zero());
    locks.assert_free("r");
    assert_eq!(lease.lost().await, LeaseEnd::Expired);
    lock("r")
        .retry_count(0)
        .acquire()
        .await
        .unwrap()
        .release()
        .await;
    drop(lease);
    let [ours, _, _] = &locks.acquisitions()[..] else {
        panic!("{:?}", locks.acquisitions());
    };
    assert!(
        matches!(ours.outcome, Outcome::Lost(LeaseEnd::Expired)),
        "{ours}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_sleeps_past_its_ttl_is_cancelled_in_no_time() {
    let _locks = TestLocks::new();
    let real = std::time::Instant::now();
    let began = Instant::now();
    sleeps(MINUTE / 2).await.unwrap();
    assert_eq!(began.elapsed(), MINUTE / 2);
    let error = sleeps(2 * MINUTE).await.unwrap_err();
    assert!(is_expired(&error), "{error}");
    // The clock moved on to the end of the lease, and no further.
    assert!(began.elapsed() < 2 * MINUTE);
    assert!(real.elapsed() < MINUTE);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_for_as_long_as_it_may_be() {
    let locks = TestLocks::new();
    is_renewed(30 * MINUTE).await.unwrap();
    let error = is_renewed(90 * MINUTE).await.unwrap_err();
    let is_max_hold = matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::MaxHold(_)));
    assert!(is_max_hold, "{error}");
    locks.assert_all_free();
}

#[tokio::test(start_paused = true)]
async fn renewals_that_find_no_majority_end_the_lease() {
    let locks = TestLocks::new();
    let work = tokio::spawn(is_renewed(30 * MINUTE));
    locks.until_held("long").await;
    let began = Instant::now();
    locks.cut_all();
    let error = work.await.unwrap().unwrap_err();
    let is_not_renewed = matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::NotRenewed(_)));
    assert!(is_not_renewed, "{error}");
    assert!(began.elapsed() <= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_gets_the_lock_when_the_other_ones_ttl_ends() {
    let locks = TestLocks::new();
    let began = Instant::now();
    let _hold = locks.someone_else().ttl(2 * MINUTE).hold("queue");
    waits().await.unwrap();
    assert!(began.elapsed() >= 2 * MINUTE && began.elapsed() < 3 * MINUTE);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_gets_the_lock_when_it_is_released() {
    let locks = TestLocks::new();
    let began = Instant::now();
    let hold = locks.hold("queue");
    let waiting = tokio::spawn(waits());
    locks.until_waiting("queue").await;
    assert!(!waiting.is_finished());
    hold.release();
    waiting.await.unwrap().unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn retries_elapse_at_once() {
    let locks = TestLocks::new();
    let _hold = locks.someone_else().ttl(60 * MINUTE).hold("tries");
    let began = Instant::now();
    let error = tries().await.unwrap_err();
    assert!(error.to_string().contains("4 attempts"), "{error}");
    assert!(began.elapsed() >= Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn a_lease_says_when_it_is_about_to_end() {
    let _locks = TestLocks::new();
    let began = Instant::now();
    let lease = lock("r").ttl(MINUTE).acquire().await.unwrap();
    lease.expiring().await;
    let passed = began.elapsed();
    assert!(passed > MINUTE / 2 && passed < MINUTE, "{passed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_cancels_what_does_not_end_by_itself() {
    let locks = TestLocks::new();
    let work = tokio::spawn(is_renewed(30 * MINUTE));
    locks.until_held("long").await;
    let report = locks.shutdown().await;
    assert_eq!(report.cancelled.len(), 1, "{report}");
    assert!(work.await.unwrap().unwrap_err().is_lost());
    locks.assert_all_free();
}

/// A thread outside of the paused runtime sees the paused clock too.
#[test]
fn a_paused_clock_holds_for_other_threads_too() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    let (locks, lease) = runtime.block_on(async {
        let locks = TestLocks::new();
        (locks, lock("r").ttl(MINUTE).acquire().await.unwrap())
    });
    let handle = lease.handle();
    let valid = || {
        std::thread::spawn({
            let handle = handle.clone();
            move || handle.validity()
        })
    };
    let before = valid().join().unwrap();
    assert!(before > MINUTE / 2);
    runtime.block_on(advance(MINUTE / 2));
    assert_eq!(valid().join().unwrap() + MINUTE / 2, before);
    drop(lease);
    locks.assert_all_free();
}

/// Without a paused clock all of it works in real time.
#[tokio::test]
async fn a_clock_that_runs_ends_leases_too() {
    let locks = TestLocks::new();
    // The ttl is so short that it may end within an attempt. Then there is another attempt.
    let lock = lock("r").ttl(Duration::from_millis(50)).retry_count(20);
    let lease = lock.acquire();
    let run = lease.await.unwrap().run(|_| std::future::pending::<()>());
    let error = run.await.unwrap_err();
    assert!(is_expired(&error), "{error}");
    locks.assert_all_free();
}
