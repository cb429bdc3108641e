//! Every parameter, both ways, continued: those about the call as a whole.

use redlock_runtime::registry::sites;
use redlock_runtime::{LockError, current_lease, lock, redlock};

use crate::macro_behaviour::parameters::{SOON, with_registry};

#[redlock(resource = "r", if_locked = "error", retry_count = 0)]
async fn refused() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", guard = lease)]
async fn with_guard() -> Result<bool, LockError> {
    lease.extend(SOON).await?;
    let ours = current_lease().map(|current| current.token_id() == lease.token_id());
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
        let name = |error: LockError| error.site().name();
        assert_eq!(name(named().await.unwrap_err()), "named by hand");
        let path = concat!(module_path!(), "::refused");
        assert_eq!(name(refused().await.unwrap_err()), path);
        let names: Vec<_> = sites().iter().map(|site| site.name()).collect();
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
