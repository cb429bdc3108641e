//! Fencing, renewal and the least validity, as the attribute, the object style and the
//! configuration ask for them.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::{LockOptions, Renewal};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, Redlock, current, lock, redlock};
use redlock_tests::eventually;
use tokio::time::Instant;

use crate::runtime::fixture::{SOON, config, registry, start};

#[redlock(resource = "r", fencing = true, guard = lease)]
async fn fenced() -> Result<u64, LockError> {
    let token = lease.fencing_token().expect("a token");
    assert_eq!(
        current().and_then(|lease| lease.fencing_token()),
        Some(token)
    );
    Ok(token.as_u64())
}

#[redlock(resource = "r", fencing = false, guard = lease)]
async fn unfenced() -> Result<bool, LockError> {
    Ok(lease.fencing_token().is_none())
}

/// Longer than its ttl.
#[redlock(resource = "r", ttl = 1500, max_hold = "1m", guard = lease)]
async fn works_longer_than_its_ttl() -> Result<Duration, LockError> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(lease.validity())
}

/// Ends when its lock has been renewed. A machine may stand still for most of the ttl.
#[redlock(resource = "r", ttl = "9s", max_hold = "10m", guard = lease)]
async fn works_until_it_is_renewed() -> Result<(), LockError> {
    let end = || Instant::now() + lease.validity();
    let first = end();
    eventually("a renewal", SOON, async || {
        let is_renewed = end() > first + Duration::from_secs(1);
        is_renewed.then_some(()).ok_or("not yet".to_owned())
    })
    .await;
    Ok(())
}

#[redlock(resource = "r", ttl = 200, max_hold = 500, retry_count = 0)]
async fn is_held_too_long() -> Result<(), LockError> {
    std::future::pending::<()>().await;
    Ok(())
}

#[redlock(resource = "r", ttl = "1m", min_validity = least)]
async fn wants_at_least(least: f64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", ttl = ttl, max_hold = held)]
async fn wants_to_hold(ttl: Duration, held: Duration) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn an_annotated_function_has_its_fencing_token() {
    let (nodes, redlock) = start(3).await;
    let registry = registry(&redlock);
    let mut last = 0;
    for _ in 0..5 {
        let token = registry.clone().scope(fenced()).await.unwrap();
        assert!(token > last);
        last = token;
    }
    let lease = registry
        .clone()
        .scope(lock("r").fencing(true).acquire())
        .await
        .unwrap();
    assert!(lease.fencing_token().unwrap().as_u64() > last);
    lease.release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn the_configuration_asks_for_all_locks_and_the_attribute_wins() {
    let (nodes, first) = start(3).await;
    drop(first);
    let config = config(&nodes).defaults(LockOptions::new().fencing(true));
    let redlock = Redlock::start(config).await.unwrap();
    let registry = registry(&redlock);
    let lease = registry.clone().scope(lock("r").acquire()).await.unwrap();
    assert!(lease.fencing_token().is_some());
    lease.release().await;
    assert!(registry.clone().scope(unfenced()).await.unwrap());
}

/// The test has its own clock: with a real one, a machine that stalls for a second loses the lease.
#[tokio::test(start_paused = true)]
async fn a_body_may_outlive_its_ttl_where_the_lock_is_renewed() {
    let locks = TestLocks::new();
    let left = works_longer_than_its_ttl().await;
    assert!(!left.unwrap().is_zero());
    locks.assert_all_free();
}

#[tokio::test]
async fn a_lock_with_a_max_hold_is_renewed_on_the_servers() {
    let (nodes, redlock) = start(3).await;
    let renewed = registry(&redlock).scope(works_until_it_is_renewed()).await;
    renewed.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_is_cancelled_at_max_hold() {
    let locks = TestLocks::new();
    let began = Instant::now();
    let error = is_held_too_long().await.unwrap_err();
    assert!(matches!(error.kind(), LockErrorKind::Lost(_)), "{error}");
    let held = began.elapsed();
    let (ttl, longest) = (Duration::from_millis(200), Duration::from_millis(500));
    assert!(held > ttl && held <= longest, "{held:?}");
    locks.assert_all_free();
}

#[tokio::test]
async fn values_that_no_lock_can_have_are_invalid_at_the_call() {
    let (_nodes, redlock) = start(3).await;
    let registry = registry(&redlock);
    for least in [1.0, -0.5, f64::NAN, 0.999] {
        let error = registry
            .clone()
            .scope(wants_at_least(least))
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error.kind(), LockErrorKind::Invalid(_)), "{text}");
        assert!(text.contains("min_validity"), "{text}");
    }
    registry.clone().scope(wants_at_least(0.5)).await.unwrap();
    let seconds = Duration::from_secs;
    let error = registry
        .clone()
        .scope(wants_to_hold(seconds(60), seconds(59)))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("max_hold"), "{error}");
    registry
        .clone()
        .scope(wants_to_hold(seconds(60), seconds(60)))
        .await
        .unwrap();
    let unlimited = lock("r").max_hold(Renewal::Unlimited).acquire();
    drop(registry.clone().scope(unlimited).await.unwrap());
}
