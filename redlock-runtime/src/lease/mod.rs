//! The lease of applications: [`Lease`] holds the lock, and a [`LeaseHandle`] only observes it.

pub(crate) mod chain;
mod handle;
mod hold;

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tracing::Instrument as _;

use redlock_core::env::log_throttled;
use redlock_core::lease::{OnLost, Released};

pub use redlock_core::error::LeaseEnd;
pub use redlock_core::lease::FencingToken;

pub use handle::LeaseHandle;
pub(crate) use hold::Hold;

use crate::error::LockError;
use crate::parameters::Counts;
use crate::registry::held::HeldPlace;
use crate::registry::limits::RegistryLimits;
use crate::registry::record::Record;
use crate::site::Site;
use crate::telemetry::{Holding, figure, name_of};

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
    // In this order: the core lease sends its release before the place in the table is given up,
    // so that a shutdown that finds the table empty finds the releases on their way.
    core: CoreLease,
    place: HeldPlace,
    on_lost: OnLost,
}

/// The core lease, and what became of the run under it.
struct CoreLease {
    /// Until it has ended.
    core: Mutex<Option<(redlock_core::Lease, Holding)>>,
    /// The runs that the nodes remember, if the lock has a period.
    counts: Option<Counts>,
    /// What runs under the lease has begun: its body, or at once if it has none.
    has_begun: AtomicBool,
    /// A body has begun and not returned.
    is_in_body: AtomicBool,
    /// The run under the lease has ended well.
    has_ended_well: AtomicBool,
    record: Record,
    handle: LeaseHandle,
}

impl CoreLease {
    /// Takes the core lease, if it is not released yet.
    fn take_for_release(&self) -> Option<redlock_core::Lease> {
        let (mut core, holding) = self.core.lock().take()?;
        let is_cut_off = self.is_in_body.load(Ordering::Relaxed);
        holding.ended(&core);
        self.record.ends(|| core.over(), is_cut_off);
        if self.is_remembered(&core) {
            core.remember_run();
        }
        Some(core)
    }

    /// Whether the nodes are to remember the run that ends.
    fn is_remembered(&self, core: &redlock_core::Lease) -> bool {
        match self.counts {
            None => false,
            // Without the lock, another process may have run meanwhile.
            Some(Counts::Success) => {
                self.has_ended_well.load(Ordering::Relaxed) && core.over().is_none()
            }
            Some(Counts::Every) => self.has_begun.load(Ordering::Relaxed),
        }
    }
}

impl Drop for CoreLease {
    fn drop(&mut self) {
        drop(self.take_for_release());
    }
}

impl Lease {
    pub(crate) fn new(
        core: redlock_core::Lease,
        place: HeldPlace,
        limits: Arc<RegistryLimits>,
        site: &'static Site,
        (on_lost, counts): (OnLost, Option<Counts>),
        holding: Holding,
    ) -> Self {
        let handle = LeaseHandle {
            core: core.handle(),
            limits,
            site,
        };
        Self {
            core: CoreLease {
                core: Mutex::new(Some((core, holding))),
                counts,
                has_begun: AtomicBool::new(!place.is_for_body()),
                is_in_body: AtomicBool::new(false),
                has_ended_well: AtomicBool::new(false),
                record: Record::default(),
                handle,
            },
            place,
            on_lost,
        }
    }

    /// Records how the lease ends.
    pub(crate) fn recorded(mut self, record: Record) -> Self {
        record.held(&self.core.handle.core);
        self.core.record = record;
        self
    }

    /// The run under the lease has ended well. Call it before the release.
    pub(crate) fn ended_well(&self) {
        self.core.has_ended_well.store(true, Ordering::Relaxed);
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
        self.core.handle.clone()
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
        self.ended_well();
        self.release_in_place().await;
    }

    /// The same if the lease itself has to stay: a body may have a reference to it.
    pub(crate) async fn release_in_place(&self) {
        if let Some(core) = self.take_for_release() {
            self.released(core.release().await);
        }
    }

    /// What is left to release, if anything; [`released`](Self::released) is to be told how the release
    /// went.
    pub(crate) fn take_for_release(&self) -> Option<redlock_core::Lease> {
        self.core.take_for_release()
    }

    pub(crate) fn released(&self, released: Released) {
        if released == Released::Unconfirmed {
            let (site, kind) = (
                self.site().site_name(),
                self.core.handle.core.kind().label(),
            );
            figure!(counter UNCONFIRMED { site: site, kind: kind } increment(1));
            log_throttled!(
                &*self.limits.throttle,
                self.site().site_name(),
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
        let span = self.span();
        let work = async {
            let outcome = {
                let body = pin!(body(self.handle()));
                self.hold(body, &span).await
            };
            if outcome.as_ref().is_ok_and(is_success) {
                self.ended_well();
            }
            self.release_in_place().await;
            outcome
        };
        // If the future is dropped half-way, the body is dropped inside of the span too.
        work.instrument(span.span().clone()).await
    }
}

impl Deref for Lease {
    type Target = LeaseHandle;

    fn deref(&self) -> &LeaseHandle {
        &self.core.handle
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.core.handle).finish()
    }
}
