//! Locks on a clock that a test owns.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{LockError, lock, redlock};
use tokio::time::{Instant, advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);

#[redlock(resource = "long", ttl = "30s", max_hold = "1h", retry_count = 0)]
async fn is_renewed(time: Duration) -> Result<(), LockError> {
    sleep(time).await;
    Ok(())
}

#[redlock(resource = "queue", wait = "5m", retry_delay = "1s")]
async fn waits() -> Result<(), LockError> {
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
async fn a_lease_is_renewed_for_as_long_as_it_may_be() {
    let locks = TestLocks::new();
    is_renewed(30 * MINUTE).await.unwrap();
    let error = is_renewed(90 * MINUTE).await.unwrap_err();
    let is_max_hold = matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::MaxHold(_)));
    assert!(is_max_hold, "{error}");
    locks.assert_all_free();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_gets_the_lock_when_the_other_ones_ttl_ends() {
    let locks = TestLocks::new();
    let began = Instant::now();
    let _hold = locks.someone_else().ttl(2 * MINUTE).hold("queue");
    waits().await.unwrap();
    assert!(began.elapsed() >= 2 * MINUTE && began.elapsed() < 3 * MINUTE);
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
