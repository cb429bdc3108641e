//! A handle of a lease, for its holder and for others.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::LeaseEnd;
use redlock_core::request::Note;

use crate::error::{LockError, LockErrorKind, RegistryContext};
use crate::parameters::{Kind, check_ttl};
use crate::site::Site;

/// Observes a lease, and extends it. A clone may be kept: after the end of the lease it has no effect.
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
    /// Returns the annotated function of the lease, or the place of the call of [`lock`](crate::lock()).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// assert_eq!(lease.site().file(), file!());
    /// # Ok(()) }
    /// ```
    pub fn site(&self) -> &'static Site {
        self.site
    }

    /// Returns the resource without the configured key prefix.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// assert_eq!(lease.resource().to_string(), "order:42");
    /// # Ok(()) }
    /// ```
    pub fn resource(&self) -> &Resource {
        self.core.resource()
    }

    /// Returns the time for which the lock is certainly ours; zero after the lease's end.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// assert!(lease.validity() > std::time::Duration::from_secs(50));
    /// # Ok(()) }
    /// ```
    pub fn validity(&self) -> Duration {
        self.core.validity()
    }

    /// Returns the time since the winning attempt began.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// assert!(lease.held_for() < std::time::Duration::from_secs(60));
    /// # Ok(()) }
    /// ```
    pub fn held_for(&self) -> Duration {
        self.core.held_for()
    }

    /// Returns a few digits of the owner token, for logs.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// println!("owner token {}…", lease.token_id());
    /// # Ok(()) }
    /// ```
    pub fn token_id(&self) -> &str {
        self.core.token_id()
    }

    /// Returns the [note](crate::LockBuilder::note) that stands on the nodes. A call that shares the lock has the note
    /// of the first holder.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").note("refund").acquire().await?;
    /// assert_eq!(lease.note().expect("a note").as_str(), "refund");
    /// # Ok(()) }
    /// ```
    pub fn note(&self) -> Option<Note> {
        self.core.note()
    }

    /// Returns the number of the lease's permit, from 0 to `permits` − 1. Each live holder of the resource has
    /// another one. `None` for a lock without `permits`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("workers").permits(4).acquire().await?;
    /// println!("this is worker {} of 4", lease.permit().expect("`permits` was asked for"));
    /// # Ok(()) }
    /// ```
    pub fn permit(&self) -> Option<u16> {
        self.core.permit()
    }

    /// Returns the kind of the lock.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// use redlock_runtime::parameters::Kind;
    ///
    /// let lease = redlock_runtime::lock("report:7").kind(Kind::Read).acquire().await?;
    /// assert_eq!(lease.kind(), Kind::Read);
    /// # Ok(()) }
    /// ```
    pub fn kind(&self) -> Kind {
        self.core.kind()
    }

    /// Lets the lock live for at least `ttl` from now. Never shortens it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// use std::time::Duration;
    ///
    /// let lease = redlock_runtime::lock("order:42").ttl(Duration::from_secs(10)).acquire().await?;
    /// lease.extend(Duration::from_secs(60)).await?;
    /// assert!(lease.validity() > Duration::from_secs(50));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LockErrorKind::Lost`] if the lease is over; [`LockErrorKind::Unavailable`] if no majority
    /// answered, in which case the old deadline still holds; [`LockErrorKind::Invalid`] for a ttl
    /// outside the limits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the old deadline standing.
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
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
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
    /// Then less than a third of the last granted validity is left, the lease is over, or this process begins to
    /// shut down.
    /// For a renewed lease this is when the lease has its last validity, or when renewals fail.
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
