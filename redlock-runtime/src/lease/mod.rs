//! The leases of applications. A [`Lease`] holds the lock, and a [`LeaseHandle`] only observes it. A [`Fenced`] lease
//! has a fencing token.

mod body;
pub(crate) mod chain;
mod fenced;
mod handle;

use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;

use redlock_core::internal::{debug_in_part, is_forked, log_throttled};
use redlock_core::lease::{OnLost, Released};
use redlock_core::targets;

pub use redlock_core::error::LeaseEnd;
pub use redlock_core::lease::FencingToken;

pub(crate) use body::BodyUnderLease;
pub use fenced::Fenced;
pub use handle::LeaseHandle;

use crate::error::RegistryContext;
use crate::parameters::Remember;
use crate::registry::held::HeldPlace;
use crate::site::Site;
use crate::telemetry::{HoldTelemetry, figure};

/// A held lock. Dropping it sends the release to every node and returns at once. [`release`](Self::release) waits until
/// the next holder could win.
///
/// A lease dereferences to its [`LeaseHandle`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let lease = redlock_runtime::lock("order:42").acquire().await?;
/// println!("{} for {:?} more", lease.resource(), lease.validity());
/// lease.release().await;
/// # Ok(()) }
/// ```
#[must_use = "a lease that is dropped is released at once"]
pub struct Lease {
    /// `None` once the release is sent.
    unreleased: Mutex<Option<Unreleased>>,
    handle: LeaseHandle,
    policy: LeasePolicy,
    holding: HoldTelemetry,
    place: HeldPlace,
}

/// The parameters that a held lease needs.
#[derive(Clone, Copy)]
pub(crate) struct LeasePolicy {
    pub(crate) on_lost: OnLost,
    /// The runs that the nodes have to remember, if the lock has a period.
    pub(crate) remember: Option<Remember>,
}

/// A lease before its release, with the stage of the run under it.
struct Unreleased {
    core: redlock_core::Lease,
    stage: RunStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunStage {
    /// The body has not been polled yet.
    NotBegun,
    /// The lease has no body, so its run began at once.
    Bare,
    InBody,
    Returned,
    Succeeded,
}

impl Lease {
    pub(crate) fn new(
        core: redlock_core::Lease,
        place: HeldPlace,
        context: Arc<RegistryContext>,
        site: &'static Site,
        policy: LeasePolicy,
        holding: HoldTelemetry,
    ) -> Self {
        let handle = LeaseHandle {
            core: core.handle(),
            context,
            site,
        };
        let stage = if place.had_body {
            RunStage::NotBegun
        } else {
            RunStage::Bare
        };
        Self {
            unreleased: Mutex::new(Some(Unreleased { core, stage })),
            handle,
            policy,
            holding,
            place,
        }
    }

    fn set_stage(&self, stage: RunStage) {
        if let Some(unreleased) = &mut *self.unreleased.lock() {
            unreleased.stage = stage;
        }
    }

    /// Marks the run under the lease as a success, before the release.
    pub(crate) fn mark_success(&self) {
        self.set_stage(RunStage::Succeeded);
    }

    /// Returns the span in which a body runs.
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.holding.span
    }

    /// Returns a handle to keep or to pass on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let handle = lease.handle();
    /// tokio::spawn(async move { println!("lost: {}", handle.lost().await) });
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn handle(&self) -> LeaseHandle {
        self.handle.clone()
    }

    /// Releases the lock, unless another call still shares it. Waits until a majority of the nodes has certainly
    /// released it, for at most the node timeout. The release never fails, because an unreachable node frees the lock
    /// at the ttl.
    ///
    /// With [`once_per`](crate::parameters::LockOptions::once_per), a lease that is released counts as a successful
    /// run, and a lease that is dropped as a failed one.
    ///
    /// # Cancellation
    /// The release is sent at the first poll, or when the future is dropped before that.
    pub async fn release(self) {
        self.mark_success();
        if let Some(core) = self.take_for_release() {
            self.report_release(core.release().await);
        }
    }

    /// Takes the core lease, unless its release was sent already. Pass the outcome of the release
    /// to [`report_release`](Self::report_release).
    pub(crate) fn take_for_release(&self) -> Option<redlock_core::Lease> {
        // In a forked process the lock belongs to the parent.
        let Unreleased { mut core, stage } =
            (!is_forked()).then(|| self.unreleased.lock().take())??;
        self.holding.end(&core, stage == RunStage::InBody);
        let is_remembered = match self.policy.remember {
            None => false,
            // If the lease ended earlier, another process may have run the job since.
            Some(Remember::Success) => stage == RunStage::Succeeded && core.over().is_none(),
            Some(Remember::EveryRun) => stage != RunStage::NotBegun,
        };
        if is_remembered {
            core.remember_run();
        }
        Some(core)
    }

    /// Counts and logs a release that no majority confirmed.
    pub(crate) fn report_release(&self, released: Released) {
        if released == Released::Unconfirmed {
            let (site, kind) = (self.site().name(), self.handle.core.kind().label());
            figure!(counter UNCONFIRMED { site: site, kind: kind } increment(1));
            log_throttled!(
                target: targets::LEASE, &self.context.throttle,
                site,
                WARN,
                "release not confirmed by a majority; the nodes drop the keys at the ttl",
                %site,
                resource = %self.resource(), token = self.token_id()
            );
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The release is sent first, and the place in the table is dropped next. So when a shutdown finds the table
        // empty, all releases have been sent.
        drop(self.take_for_release());
    }
}

impl Deref for Lease {
    type Target = LeaseHandle;

    fn deref(&self) -> &LeaseHandle {
        &self.handle
    }
}

debug_in_part!(Lease, it => handle: it.handle);
