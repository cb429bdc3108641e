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

#[tokio::test(start_paused = true)]
async fn a_lease_expires_when_the_clock_is_advanced() {
    let locks = TestLocks::new();
    let lease = lock("r").ttl(MINUTE).acquire().await.unwrap();
    advance(MINUTE / 2).await;
    assert!(!lease.validity().is_zero());
    locks.assert_held("r");
    advance(MINUTE / 2).await;
    assert!(lease.validity().is_zero());
    locks.assert_free("r");
    assert_eq!(lease.lost().await, LeaseEnd::Expired);
    drop(lease);
    let outcome = &locks.acquisitions()[0].outcome;
    assert!(
        matches!(outcome, Outcome::Lost(LeaseEnd::Expired)),
        "{outcome}"
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
async fn a_call_gets_the_lock_at_the_end_of_the_other_ttl() {
    let locks = TestLocks::new();
    let began = Instant::now();
    let _hold = locks.someone_else().ttl(2 * MINUTE).hold("queue");
    waits().await.unwrap();
    assert!(began.elapsed() >= 2 * MINUTE && began.elapsed() < 3 * MINUTE);
}

#[test]
fn threads_outside_of_the_runtime_see_the_paused_clock() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    let (_locks, lease) = runtime.block_on(async {
        let locks = TestLocks::new();
        (locks, lock("r").ttl(MINUTE).acquire().await.unwrap())
    });
    let handle = lease.handle();
    let valid = || {
        let handle = handle.clone();
        let thread = std::thread::spawn(move || handle.validity());
        thread.join().unwrap()
    };
    let before = valid();
    assert!(before > MINUTE / 2);
    runtime.block_on(advance(MINUTE / 2));
    assert_eq!(valid() + MINUTE / 2, before);
}
