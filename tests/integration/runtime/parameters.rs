//! Fencing, renewal and the least validity, as the attribute, the object style and the
//! configuration ask for them.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::{LockOptions, Renewal};
use redlock_runtime::{LockError, Redlock, lock, redlock};

use crate::runtime::fixture::{config, registry, start};

#[redlock(resource = "r", fencing = false, guard = lease)]
async fn unfenced() -> Result<bool, LockError> {
    Ok(lease.fencing_token().is_none())
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
