//! Handles of leases, for the holder and for other code.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::LeaseEnd;
use redlock_core::request::Note;

use crate::error::{LockError, LockErrorKind, RegistryContext};
use crate::parameters::{Kind, check_ttl};
use crate::site::Site;

/// Observes a lease, and extends it. A clone may be kept, because it has no effect after the end of the lease.
///
/// ```
/// use std::time::Duration;
/// use redlock_runtime::{LockError, redlock};
///
/// #[redlock(resource = "import", ttl = "30s", guard = lease)]
/// async fn import(parts: &[String]) -> Result<(), LockError> {
///     for part in parts {
///         lease.extend(Duration::from_secs(30)).await?;
///         println!("{part}: {:?} left", lease.validity());
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct LeaseHandle {
    pub(crate) core: redlock_core::LeaseHandle,
    pub(crate) context: Arc<RegistryContext>,
    pub(super) site: &'static Site,
}

impl LeaseHandle {
    /// Returns the annotated function of the lease, or the place in the source that called [`lock`](crate::lock()).
    pub fn site(&self) -> &'static Site {
        self.site
    }

    /// Returns the resource without the configured key prefix.
    pub fn resource(&self) -> &Resource {
        self.core.resource()
    }

    /// Returns the time for which the lock is certainly held. Zero after the end of the lease.
    pub fn validity(&self) -> Duration {
        self.core.validity()
    }

    /// Returns the time since the winning attempt began.
    pub fn held_for(&self) -> Duration {
        self.core.held_for()
    }

    /// Returns a few digits of the owner token, for logs.
    pub fn token_id(&self) -> &str {
        self.core.token_id()
    }

    /// Returns the [note](crate::LockBuilder::note) on the nodes. A call that shares the lock gets the note of the
    /// first holder.
    pub fn note(&self) -> Option<Note> {
        self.core.note()
    }

    /// Returns the number of the lease's permit, from 0 to `permits` − 1. Each live holder of the resource has a
    /// different number. `None` for a lock without `permits`.
    pub fn permit(&self) -> Option<u16> {
        self.core.permit()
    }

    /// Returns the kind of the lock.
    pub fn kind(&self) -> Kind {
        self.core.kind()
    }

    /// Extends the lock so that it lives for at least `ttl` from now. The call never shortens it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// use std::time::Duration;
    ///
    /// let lease = redlock_runtime::lock("order:42").ttl(Duration::from_secs(10)).acquire().await?;
    /// lease.extend(Duration::from_secs(60)).await?;
    /// assert!(lease.validity() > Duration::from_secs(50));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`LockErrorKind::Lost`] if the lease is over, and [`LockErrorKind::Invalid`] for a ttl outside of the
    /// limits. If no majority answered, it returns [`LockErrorKind::Unavailable`], and the old deadline still holds.
    ///
    /// # Cancellation
    /// If the future is dropped, the old deadline still holds.
    pub async fn extend(&self, ttl: Duration) -> Result<(), LockError> {
        let checked = check_ttl(ttl, self.context.max_ttl);
        checked.map_err(|invalid| self.error(LockErrorKind::Invalid(invalid)))?;
        let extended = self.core.extend(ttl).await;
        extended.map_err(|error| self.error(LockErrorKind::of_extend(error)))
    }

    /// Waits until the lease is over, and returns the reason.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let handle = lease.handle();
    /// lease.release().await;
    /// assert_eq!(handle.lost().await, redlock_runtime::lease::LeaseEnd::Released);
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> LeaseEnd {
        self.core.lost().await
    }

    /// Waits until the lease is about to end, so that its holder can finish.
    ///
    /// The future completes when less than a third of the last granted validity is left, when the lease is over, or
    /// when this process begins to shut down. A renewed lease is about to end when its renewals fail, or when
    /// `max_hold` leaves no time for another one.
    ///
    /// ```
    /// # async fn example(lease: &redlock_runtime::LeaseHandle, mut work: impl AsyncFnMut()) {
    /// loop {
    ///     tokio::select! {
    ///         () = work() => {}
    ///         () = lease.expiring() => break, // Wind down while the lock is still held.
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn expiring(&self) {
        self.core.expiring().await;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.core.over().is_some()
    }

    pub(crate) fn lost_error(&self, over: LeaseEnd) -> LockError {
        self.error(LockErrorKind::Lost(over))
    }

    fn error(&self, kind: LockErrorKind) -> LockError {
        LockError::new(kind, self.resource(), self.site, Some(&self.context))
    }
}

impl fmt::Debug for LeaseHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}
