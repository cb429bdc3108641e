//! Waiting until calls in other tasks hold, wait for or have released a lock.

use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::time::{Duration, Instant};

use redlock_core::Resource;

use super::TestLocks;
use super::acquisition::{Acquisition, Outcome};

/// How long a test waits for something that takes milliseconds, on a busy machine.
const REAL_LIMIT: Duration = Duration::from_secs(10);

/// The time that a paused clock may jump over meanwhile: longer than any lock lasts.
const PAUSED_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

impl TestLocks {
    /// Waits until a call holds `resource`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let call = tokio::spawn(redlock_runtime::lock("order:42").run(std::future::pending::<()>()));
    /// locks.until_held("order:42").await;
    /// # call.abort();
    /// # }
    /// ```
    ///
    /// # Panics
    /// If that has not happened within ten seconds; or, with a paused clock, within a day.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    #[track_caller]
    pub fn until_held(&self, resource: impl Into<Resource>) -> impl Future<Output = ()> {
        self.until(resource.into(), "is not held", |of| {
            of.iter().any(Acquisition::is_held)
        })
    }

    /// Waits until a call waits for `resource`: it has asked for it, and has no answer yet.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let hold = locks.hold("order:42");
    /// let call = tokio::spawn(redlock_runtime::lock("order:42").acquire());
    /// locks.until_waiting("order:42").await;
    /// hold.release();
    /// call.await.unwrap().unwrap();
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`until_held`](Self::until_held).
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    #[track_caller]
    pub fn until_waiting(&self, resource: impl Into<Resource>) -> impl Future<Output = ()> {
        self.until(resource.into(), "is not waited for", |of| {
            let mut outcomes = of.iter().map(|acquisition| &acquisition.outcome);
            outcomes.any(|outcome| matches!(outcome, Outcome::Waiting))
        })
    }

    /// Waits until every call that held `resource` has released it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let call = tokio::spawn(redlock_runtime::lock("order:42").run(std::future::pending::<()>()));
    /// locks.until_held("order:42").await;
    /// call.abort();
    /// locks.until_released("order:42").await;
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`until_held`](Self::until_held).
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    #[track_caller]
    pub fn until_released(&self, resource: impl Into<Resource>) -> impl Future<Output = ()> {
        self.until(resource.into(), "is still held", |of| {
            !of.iter().any(Acquisition::is_held)
        })
    }

    #[track_caller]
    fn until(
        &self,
        resource: Resource,
        otherwise: &'static str,
        is_so: impl Fn(&[Acquisition]) -> bool,
    ) -> impl Future<Output = ()> {
        let (locks, caller) = (self.clone(), Location::caller());
        async move {
            let began = Instant::now();
            let mut pause = Duration::from_secs(1);
            loop {
                let mut changed = pin!(locks.inner.journal.changed.notified());
                changed.as_mut().enable();
                if is_so(&locks.acquisitions_of(resource.clone())) {
                    return;
                }
                if tokio::time::timeout(pause, changed).await.is_err() {
                    // A paused clock gets here at once, while other tasks may still have work to
                    // do.
                    pause = pause.saturating_mul(2);
                }
                let is_patient = began.elapsed() < REAL_LIMIT && pause < PAUSED_LIMIT;
                locks.expect(
                    is_patient,
                    format_args!("`{resource}` {otherwise}, at {caller}"),
                );
            }
        }
    }
}
