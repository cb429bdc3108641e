//! Locks on a clock that a test owns.

use std::time::Duration;

use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::lock;
use redlock_runtime::testing::{Outcome, TestLocks};
use tokio::time::advance;

const MINUTE: Duration = Duration::from_secs(60);

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
