//! Every parameter, both ways, continued: those about the call as a whole.

use std::time::Duration;

use redlock_runtime::registry::{Registry, sites};
use redlock_runtime::{LockError, current, lock, redlock};
use redlock_tests::drop_after;

use crate::macro_behaviour::parameters::{SOON, keys, with_registry};

#[redlock(resource = "released")]
async fn is_released_by_default() -> Result<(), LockError> {
    std::future::pending().await
}

#[redlock(resource = "released", on_cancel = "release")]
async fn is_released() -> Result<(), LockError> {
    std::future::pending().await
}

#[redlock(resource = "kept", on_cancel = "expire")]
async fn is_kept() -> Result<(), LockError> {
    std::future::pending().await
}

/// Polls the call until it holds its lock, and drops it.
async fn cut_off(registry: &Registry, call: impl Future, key: &str) {
    let mut call = std::pin::pin!(call);
    while !keys(registry, "a").iter().any(|held| held == key) || registry.held().is_empty() {
        assert!(drop_after(1, call.as_mut()).await.is_none());
        tokio::task::yield_now().await;
    }
    // Into the body, where it was not polled yet.
    assert!(drop_after(1, call.as_mut()).await.is_none());
}

#[tokio::test]
async fn on_cancel() {
    with_registry(async |registry| {
        cut_off(&registry, is_released_by_default(), "released").await;
        lock("released").acquire().await.unwrap().release().await;
        cut_off(&registry, is_released(), "released").await;
        lock("released").acquire().await.unwrap().release().await;
        cut_off(&registry, is_kept(), "kept").await;
        let refused = lock("kept").retry_count(0).acquire().await.unwrap_err();
        assert!(refused.is_contended(), "{refused}");
        assert!(registry.held().is_empty());
    })
    .await;
}

#[redlock(resource = "r", min_hold = "30s", retry_count = 0)]
async fn kept() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", min_hold = held, retry_count = 0)]
async fn kept_for(held: Duration) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn min_hold() {
    with_registry(async |registry| {
        kept_for(Duration::ZERO).await.unwrap();
        kept().await.unwrap();
        assert!(registry.held().is_empty());
        let refused = kept().await.unwrap_err();
        assert!(refused.is_contended(), "{refused}");
        let left = refused.retry_after().expect("a time");
        assert!(left <= Duration::from_secs(30), "{left:?}");
        let refused = kept_for(Duration::from_secs(61)).await.unwrap_err();
        assert!(refused.to_string().contains("min_hold"), "{refused}");
    })
    .await;
}

#[redlock(resource = "r", if_locked = "skip")]
async fn skipped(ran: &mut bool) {
    *ran = true;
}

#[redlock(resource = "r", if_locked = "skip")]
async fn skipped_with_a_value() -> Result<Option<&'static str>, LockError> {
    Ok(Some("ran"))
}

#[redlock(resource = "r", if_locked = "error", retry_count = 0)]
async fn refused() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn if_locked() {
    with_registry(async |_| {
        let held = lock("r").acquire().await.unwrap();
        let mut ran = false;
        skipped(&mut ran).await;
        assert!(!ran);
        assert_eq!(skipped_with_a_value().await.unwrap(), None);
        assert!(refused().await.unwrap_err().is_contended());
        held.release().await;
        skipped(&mut ran).await;
        assert!(ran);
        assert_eq!(skipped_with_a_value().await.unwrap(), Some("ran"));
        refused().await.unwrap();
    })
    .await;
}

#[redlock(resource = "r", guard = lease)]
async fn with_guard() -> Result<bool, LockError> {
    lease.extend(SOON).await?;
    let ours = current().map(|current| current.token_id() == lease.token_id());
    Ok(ours == Some(true))
}

#[redlock(resource = "r")]
async fn without_guard(lease: u8) -> Result<u8, LockError> {
    Ok(lease)
}

#[tokio::test]
async fn guard() {
    with_registry(async |_| {
        assert!(with_guard().await.unwrap());
        assert_eq!(without_guard(7).await.unwrap(), 7);
    })
    .await;
}

#[redlock(resource = "r", name = "named by hand", retry_count = 0)]
async fn named() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn name() {
    with_registry(async |_| {
        let _held = lock("r").acquire().await.unwrap();
        let name = |error: LockError| error.site().map(|site| site.site_name().to_owned());
        assert_eq!(name(named().await.unwrap_err()).unwrap(), "named by hand");
        let path = concat!(module_path!(), "::refused");
        assert_eq!(name(refused().await.unwrap_err()).unwrap(), path);
        let names: Vec<_> = sites().iter().map(|site| site.site_name()).collect();
        assert!(names.contains(&"named by hand"));
        assert!(names.contains(&path));
    })
    .await;
}

/// A crate that brings the runtime along under a name of its own.
mod framework {
    pub(crate) use redlock_runtime as locks;
}

#[redlock(resource = "r", crate = crate::macro_behaviour::parameters_of_calls::framework::locks)]
async fn elsewhere() -> Result<&'static str, framework::locks::LockError> {
    Ok("ran")
}

#[tokio::test]
async fn the_runtimes_crate() {
    with_registry(async |_| assert_eq!(elsewhere().await.unwrap(), "ran")).await;
}
