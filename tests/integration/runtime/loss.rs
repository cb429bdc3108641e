//! What happens to a body when its lease ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::{LockError, redlock};

use crate::runtime::fixture::{SOON, registry, start};

/// Blocks the thread past the deadline and ends in the very same poll.
#[redlock(resource = "r", ttl = 1000, retry_count = 20)]
async fn ends_late() -> Result<&'static str, LockError> {
    std::thread::sleep(Duration::from_millis(1100));
    Ok("late")
}

/// Blocks the thread past the deadline, and would go on.
#[redlock(resource = "r", ttl = 1000, retry_count = 20)]
async fn comes_back_late(went_on: Arc<AtomicBool>) -> Result<(), LockError> {
    std::thread::sleep(Duration::from_millis(1100));
    tokio::task::yield_now().await;
    went_on.store(true, Ordering::SeqCst);
    Ok(())
}

fn is_expired(error: &LockError) -> bool {
    matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Expired))
}

#[tokio::test]
async fn a_body_that_ends_in_a_late_poll_returns_its_value() {
    let (nodes, redlock) = start(3).await;
    assert_eq!(registry(&redlock).scope(ends_late()).await.unwrap(), "late");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_body_is_not_polled_again_after_the_deadline() {
    let (nodes, redlock) = start(3).await;
    let went_on = Arc::new(AtomicBool::new(false));
    let error = registry(&redlock)
        .scope(comes_back_late(Arc::clone(&went_on)))
        .await
        .unwrap_err();
    assert!(is_expired(&error), "{error}");
    assert!(!went_on.load(Ordering::SeqCst));
    nodes.assert_no_lock_keys(SOON).await;
}
