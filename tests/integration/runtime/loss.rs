//! What happens to a body when its lease ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::{LockError, redlock};

use crate::runtime::fixture::{SOON, Stage, registry, spawn_on, stage, start};

/// Tells when it is dropped.
struct Witness(Arc<AtomicBool>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[redlock(resource = "r", ttl = 1500, retry_count = 20)]
async fn waits_forever(dropped: Arc<AtomicBool>) -> Result<(), LockError> {
    let _witness = Witness(dropped);
    std::future::pending::<()>().await;
    Ok(())
}

#[redlock(resource = "r", ttl = 1500, retry_count = 20, on_lost = "continue", guard = lease)]
async fn goes_on(mut stage: Stage) -> Result<&'static str, LockError> {
    assert_eq!(lease.lost().await, LeaseEnd::Expired);
    stage.play().await;
    Ok("finished without the lock")
}

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
async fn the_body_is_cancelled_when_validity_ends_and_the_caller_gets_lost() {
    let (nodes, redlock) = start(3).await;
    let dropped = Arc::new(AtomicBool::new(false));
    let call = registry(&redlock).scope(waits_forever(Arc::clone(&dropped)));
    let error = call.await.unwrap_err();
    assert!(is_expired(&error), "{error}");
    assert!(
        error.to_string().starts_with("the lock on `r` was lost: "),
        "{error}"
    );
    assert!(dropped.load(Ordering::SeqCst), "the body's values are gone");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn continue_lets_the_body_finish() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, goes_on(stage));
    // The lock was held, and is lost by now.
    director.begun.await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
    assert!(!call.is_finished());
    director.end.send(()).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), "finished without the lock");
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
