//! The lease of applications: [`Lease`] holds the lock, and a [`LeaseHandle`] only observes it.

mod body;
pub(crate) mod chain;
mod handle;

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::Instrument as _;

use redlock_core::lease::{OnLost, Released};
use redlock_core::logging::log_throttled;
use redlock_core::process::is_forked;

pub use redlock_core::error::LeaseEnd;
pub use redlock_core::lease::FencingToken;

pub(crate) use body::BodyUnderLease;
pub use handle::LeaseHandle;

use crate::error::{LockError, RegistryContext};
use crate::parameters::Counts;
use crate::registry::held::HeldPlace;
use crate::site::Site;
use crate::telemetry::{HoldTelemetry, figure, name_of};

/// A held lock. Dropping it sends the release to every node without waiting;
/// [`release`](Self::release) waits until the next holder could win.
///
/// Dereferences to its [`LeaseHandle`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// let lease = redlock_runtime::lock("order:42").acquire().await?;
/// println!("{} for {:?} more", lease.resource(), lease.validity());
/// lease.release().await;
/// # Ok(()) }
/// ```
#[must_use = "a lease that is dropped is released at once"]
pub struct Lease {
    /// Until the release is sent.
    run: Mutex<Option<Unreleased>>,
    handle: LeaseHandle,
    on_lost: OnLost,
    /// The runs that the nodes remember, if the lock has a period.
    counts: Option<Counts>,
    holding: HoldTelemetry,
    place: HeldPlace,
}

/// What runs under the lease, and what became of it.
struct Unreleased {
    core: redlock_core::Lease,
    stage: RunStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunStage {
    /// The body has not been polled.
    NotBegun,
    /// The lease has no body: its run began at once.
    Bare,
    InBody,
    Returned,
    EndedWell,
}

impl Lease {
    pub(crate) fn new(
        core: redlock_core::Lease,
        place: HeldPlace,
        context: Arc<RegistryContext>,
        site: &'static Site,
        (on_lost, counts): (OnLost, Option<Counts>),
        holding: HoldTelemetry,
    ) -> Self {
        let handle = LeaseHandle {
            core: core.handle(),
            context,
            site,
        };
        let stage = if place.is_for_body() {
            RunStage::NotBegun
        } else {
            RunStage::Bare
        };
        Self {
            run: Mutex::new(Some(Unreleased { core, stage })),
            handle,
            on_lost,
            counts,
            holding,
            place,
        }
    }

    fn enter(&self, stage: RunStage) {
        if let Some(run) = &mut *self.run.lock() {
            run.stage = stage;
        }
    }

    /// The run under the lease has ended well. Call it before the release.
    pub(crate) fn mark_success(&self) {
        self.enter(RunStage::EndedWell);
    }

    /// The span in which a body runs.
    pub(crate) fn span(&self) -> &tracing::Span {
        self.holding.span()
    }

    /// A handle to keep or pass on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let handle = lease.handle();
    /// tokio::spawn(async move { println!("lost: {}", handle.lost().await) });
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn handle(&self) -> LeaseHandle {
        self.handle.clone()
    }

    /// Releases the lock, unless another call still shares it. Waits until a majority of the nodes
    /// is known to have let go of the lock, for at most the node timeout. Never fails: a node that
    /// cannot be reached frees the lock at the ttl.
    ///
    /// With [`once_per`](crate::parameters::LockOptions::once_per), a lease that is released is a run that
    /// ended well, and a lease that is dropped a run that did not.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// lease.release().await;
    /// assert_eq!(redlock.registry().held_count(), 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancellation
    /// The release is sent at the first poll, or when the future is dropped before it.
    pub async fn release(self) {
        self.mark_success();
        self.release_in_place().await;
    }

    /// The same if the lease itself has to stay: a body may have a reference to it.
    pub(crate) async fn release_in_place(&self) {
        if let Some(core) = self.take_for_release() {
            self.report_release(core.release().await);
        }
    }

    /// What is left to release, if anything; [`report_release`](Self::report_release) is to be told how the release
    /// went.
    pub(crate) fn take_for_release(&self) -> Option<redlock_core::Lease> {
        // In a forked process the lock is the parent's.
        let Unreleased { mut core, stage } = (!is_forked()).then(|| self.run.lock().take())??;
        self.holding.end(&core, stage == RunStage::InBody);
        let is_remembered = match self.counts {
            None => false,
            // Without the lock, another process may have run meanwhile.
            Some(Counts::Success) => stage == RunStage::EndedWell && core.over().is_none(),
            Some(Counts::Every) => stage != RunStage::NotBegun,
        };
        if is_remembered {
            core.remember_run();
        }
        Some(core)
    }

    pub(crate) fn report_release(&self, released: Released) {
        if released == Released::Unconfirmed {
            let (site, kind) = (self.site().site_name(), self.handle.core.kind().label());
            figure!(counter UNCONFIRMED { site: site, kind: kind } increment(1));
            log_throttled!(
                &self.context.throttle,
                site,
                WARN,
                "release not confirmed by a majority; the nodes drop the keys at the ttl",
                site = name_of(self.site()),
                resource = %self.resource(), token = self.token_id()
            );
        }
    }

    /// Runs `body` under the lease and releases it. The body is cancelled at its next await when
    /// the lease ends, unless `on_lost` says otherwise.
    ///
    /// With [`once_per`](crate::parameters::LockOptions::once_per), a body that returns has ended well,
    /// whatever it returns. [`try_run`](Self::try_run) is for bodies that may fail.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let total = lease.run(|_lease| async { 6 * 7 }).await?;
    /// assert_eq!(total, 42);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Lost`](crate::error::LockErrorKind::Lost) where the body was cancelled.
    ///
    /// # Cancellation
    /// Dropping the future drops the body first, then releases.
    pub async fn run<F, B>(self, body: F) -> Result<B::Output, LockError>
    where
        F: FnOnce(LeaseHandle) -> B,
        B: Future,
    {
        self.run_judged(body, |_| true).await
    }

    /// As [`run`](Self::run), for a body that may fail. With
    /// [`once_per`](crate::parameters::LockOptions::once_per), only a body that returns `Ok` has ended well.
    ///
    /// ```
    /// # use redlock_runtime::LockError;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let total: Result<i32, LockError> = lease.try_run(|_lease| async { Ok(6 * 7) }).await;
    /// assert_eq!(total?, 42);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The body's own; and [`Lost`](crate::error::LockErrorKind::Lost) where the body was cancelled.
    ///
    /// # Cancellation
    /// As [`run`](Self::run).
    pub async fn try_run<F, B, T, E>(self, body: F) -> Result<T, E>
    where
        F: FnOnce(LeaseHandle) -> B,
        B: Future<Output = Result<T, E>>,
        E: From<LockError>,
    {
        self.run_judged(body, Result::is_ok).await?
    }

    async fn run_judged<F, B>(
        self,
        body: F,
        is_success: fn(&B::Output) -> bool,
    ) -> Result<B::Output, LockError>
    where
        F: FnOnce(LeaseHandle) -> B,
        B: Future,
    {
        let span = self.span().clone();
        let work = async {
            let outcome = {
                let mut body = pin!(body(self.handle()));
                let mut output = None;
                let held = async {
                    let mut hold = BodyUnderLease::begin(&self)?;
                    poll_fn(|context| {
                        hold.poll(&self, context, &mut |context| {
                            body.as_mut().poll(context).map(|it| output = Some(it))
                        })
                    })
                    .await
                };
                held.await.map(|()| output.expect("the body has returned"))
            };
            if outcome.as_ref().is_ok_and(is_success) {
                self.mark_success();
            }
            self.release_in_place().await;
            outcome
        };
        // If the future is dropped half-way, the body is dropped inside of the span too.
        work.instrument(span).await
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The release is sent before the place in the table is given up, so that a shutdown that finds the table empty
        // finds the releases on their way.
        drop(self.take_for_release());
    }
}

impl Deref for Lease {
    type Target = LeaseHandle;

    fn deref(&self) -> &LeaseHandle {
        &self.handle
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.handle).finish()
    }
}
