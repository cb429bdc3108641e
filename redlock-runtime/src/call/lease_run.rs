//! Runs a body under a lease that the caller has acquired.

use std::future::Future;

use super::call_future::{result_rules, run_call};
use super::call_state::CallState;
use crate::error::LockError;
use crate::lease::{Fenced, Lease, LeaseHandle};

impl Lease {
    /// Runs `body` under the lease, then releases the lease. If the lease ends, the body is cancelled at its next
    /// await, unless `on_lost` says otherwise.
    ///
    /// `body` is a function that gets a handle, because `run` takes the lease itself.
    ///
    /// With [`once_per`](crate::parameters::LockOptions::once_per), a body that returns counts as a success, whatever
    /// it returns. Use [`try_run`](Self::try_run) for a body that may fail.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let total = lease.run(|_lease| async { 6 * 7 }).await?;
    /// assert_eq!(total, 42);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`Lost`](crate::error::LockErrorKind::Lost) if the body was cancelled.
    ///
    /// # Cancellation
    /// Dropping the future drops the body first, then sends the release.
    pub fn run<B: Future>(
        self,
        body: impl FnOnce(LeaseHandle) -> B,
    ) -> impl Future<Output = Result<B::Output, LockError>> {
        let handle = self.handle();
        let body = async move { Ok(body(handle).await) };
        run_call(CallState::acquired(self), body, result_rules())
    }

    /// Runs `body` as [`run`](Self::run) does, but the body may fail.
    /// With [`once_per`](crate::parameters::LockOptions::once_per), only a body that returns `Ok` counts as a success.
    ///
    /// ```
    /// # use redlock_runtime::LockError;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let total: Result<i32, LockError> = lease.try_run(|_lease| async { Ok(6 * 7) }).await;
    /// assert_eq!(total?, 42);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the body's own error, or [`Lost`](crate::error::LockErrorKind::Lost) if the body was cancelled.
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`run`](Self::run).
    pub fn try_run<T, E: From<LockError>, B: Future<Output = Result<T, E>>>(
        self,
        body: impl FnOnce(LeaseHandle) -> B,
    ) -> impl Future<Output = Result<T, E>> {
        let handle = self.handle();
        let body = async move { body(handle).await };
        run_call(CallState::acquired(self), body, result_rules())
    }
}

impl Fenced<Lease> {
    /// Runs `body` as [`Lease::run`] does, and gives it the lease with its fencing token.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").fencing().acquire().await?;
    /// lease.run(async |lease| println!("UPDATE … WHERE fence <= {}", lease.fencing_token())).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Lease::run`].
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`Lease::run`].
    pub fn run<B: Future>(
        self,
        body: impl FnOnce(Fenced<LeaseHandle>) -> B,
    ) -> impl Future<Output = Result<B::Output, LockError>> {
        let handle = self.handle();
        self.lease.run(|_| body(handle))
    }

    /// Runs `body` as [`Lease::try_run`] does, and gives it the lease with its fencing token.
    ///
    /// # Errors
    /// Returns the errors of [`Lease::try_run`].
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`Lease::run`].
    pub fn try_run<T, E: From<LockError>, B: Future<Output = Result<T, E>>>(
        self,
        body: impl FnOnce(Fenced<LeaseHandle>) -> B,
    ) -> impl Future<Output = Result<T, E>> {
        let handle = self.handle();
        self.lease.try_run(|_| body(handle))
    }
}
