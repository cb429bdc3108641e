//! The errors of a locked function, of a configuration, and of a start.
//!
//! [`LockError::kind`], [`Problem::kind`] and [`NotReady::kind`] say what happened. The other types have the details.

mod context;
mod from_core;
mod problem;
mod response;
mod start;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::LeaseEnd;
use redlock_core::internal::{FORKED, Throttle, is_forked};

pub use redlock_core::error::{
    Contended, Invalid, LastRun, NodeOutcome, NodeReport, TooLate, Unavailable,
};
pub use redlock_core::node::{Holding, NodeError, NodeErrorKind, Remaining};

pub(crate) use context::{HolderHere, RegistryContext};
pub use problem::{Problem, ProblemKind};
pub(crate) use response::DEFAULT_CONTENDED_STATUS;
pub use start::{ConfigError, InitError, NotReady, NotReadyKind};

use crate::site::Site;

/// The reason why a function failed to run, or to finish, under its lock.
///
/// The error is about the lock only: it never replaces the body's own error. The text of the error is for the people
/// who run the service. An HTTP client (features `axum`, `actix`) gets another text, without the names of resources,
/// holders and nodes.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let error = redlock_runtime::lock("order:42").acquire().await.unwrap_err();
/// assert!(error.is_not_initialized());
/// assert!(error.to_string().contains("needs a lock, but redlock is not initialized"));
/// # }
/// ```
#[derive(Clone)]
pub struct LockError {
    details: Arc<ErrorDetails>,
}

struct ErrorDetails {
    kind: LockErrorKind,
    /// The resource that the call wanted to lock.
    resource: Resource,
    site: &'static Site,
    /// The data of the call's registry. `None` if the call found no registry.
    context: Option<Arc<RegistryContext>>,
    /// The holder, if a holder in this process made the call fail.
    holder: Option<HolderHere>,
}

/// The kind of a [`LockError`], with its details.
///
/// ```
/// use redlock_runtime::error::LockErrorKind;
/// fn advice(error: &redlock_runtime::LockError) -> String {
///     match error.kind() {
///         LockErrorKind::Contended(held) => format!("held, by {:?}", held.holding.owner()),
///         LockErrorKind::Lost(why) => format!("undo what was begun: {why}"),
///         LockErrorKind::Unavailable(_) | LockErrorKind::ShuttingDown => "try again later".to_owned(),
///         other => format!("correct the program: {other:?}"),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LockErrorKind {
    /// A majority of the nodes answered, and another caller holds the resource.
    Contended(Contended),
    /// Too few nodes answered in time for a majority.
    Unavailable(Unavailable),
    /// The job ran already in its period. A majority of the nodes remembers the run:
    /// see [`once_per`](crate::parameters::LockOptions::once_per).
    AlreadyRun(LastRun),
    /// The lock was acquired and then lost. The body was cancelled at its next await.
    Lost(LeaseEnd),
    /// This process refuses further locks, because it is shutting down, or because the value
    /// that [`init`](crate::init()) returned was dropped.
    ShuttingDown,
    /// This process has not called [`init`](crate::init()), or was forked after that call.
    NotInitialized,
    /// The call names a pool that is missing in the configuration.
    UnknownPool {
        /// The name of the pool that the call wanted.
        pool: String,
        /// The names of the configured pools.
        configured: Vec<String>,
    },
    /// The request has an invalid value.
    Invalid(Invalid),
}

impl LockError {
    /// Creates the error of a call at `site`. `context` is that of the call's registry, if there is one.
    pub(crate) fn new(
        kind: LockErrorKind,
        resource: &Resource,
        site: &'static Site,
        context: Option<&Arc<RegistryContext>>,
    ) -> Self {
        let details = ErrorDetails {
            kind,
            resource: resource.clone(),
            site,
            context: context.cloned(),
            holder: None,
        };
        Self {
            details: Arc::new(details),
        }
    }

    /// Adds the holder to the error, if the holder is in this process.
    pub(crate) fn held_here(mut self, holder: Option<HolderHere>) -> Self {
        // The error was just made, so this is its only reference.
        if let Some(details) = Arc::get_mut(&mut self.details) {
            details.holder = holder;
        }
        self
    }

    /// Returns the number of attempts and the time spent on them, if any attempt was made.
    pub(crate) fn effort(&self) -> Option<(u32, Duration)> {
        match self.kind() {
            LockErrorKind::Contended(it) => Some((it.attempts, it.waited)),
            LockErrorKind::Unavailable(it) => Some((it.attempts, it.waited)),
            _ => None,
        }
    }

    /// Returns the throttle of the call's registry, if there is one.
    pub(crate) fn throttle(&self) -> Option<&Throttle> {
        self.details.context.as_ref().map(|it| &it.throttle)
    }

    /// Returns the kind of the error, with its details.
    pub fn kind(&self) -> &LockErrorKind {
        &self.details.kind
    }

    /// Returns the site of the call that was refused its lock or lost it. The site is the annotated function, or the
    /// place in the source that called [`lock`](crate::lock()).
    pub fn site(&self) -> &'static Site {
        self.details.site
    }

    /// True if another caller holds the resource.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let _held = redlock_runtime::lock("order:42").acquire().await?;
    /// let error = redlock_runtime::lock("order:42").retry_count(0).acquire().await.unwrap_err();
    /// assert!(error.is_contended());
    /// # Ok(()) }
    /// ```
    pub fn is_contended(&self) -> bool {
        matches!(self.kind(), LockErrorKind::Contended(_))
    }

    /// True if too few nodes answered in time.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.kind(), LockErrorKind::Unavailable(_))
    }

    /// True if the job ran already in its period.
    ///
    /// ```
    /// use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let hourly = || redlock_runtime::lock("report").once_per(Duration::from_secs(3600));
    /// hourly().run(async {}).await?;
    /// let error = hourly().run(async {}).await.unwrap_err();
    /// assert!(error.is_already_run());
    /// assert!(error.retry_after() > Some(Duration::from_secs(53 * 60)));
    /// # Ok(()) }
    /// ```
    pub fn is_already_run(&self) -> bool {
        matches!(self.kind(), LockErrorKind::AlreadyRun(_))
    }

    /// True if the lock was lost under the body.
    pub fn is_lost(&self) -> bool {
        matches!(self.kind(), LockErrorKind::Lost(_))
    }

    /// True if this process refuses further locks: it is shutting down, or the value that `init` returned was dropped.
    pub fn is_shutting_down(&self) -> bool {
        matches!(self.kind(), LockErrorKind::ShuttingDown)
    }

    /// True if this process has not called `init`.
    pub fn is_not_initialized(&self) -> bool {
        matches!(self.kind(), LockErrorKind::NotInitialized)
    }

    /// True if the call names a pool that is missing in the configuration.
    pub fn is_unknown_pool(&self) -> bool {
        matches!(self.kind(), LockErrorKind::UnknownPool { .. })
    }

    /// True if the request has an invalid value.
    pub fn is_invalid(&self) -> bool {
        matches!(self.kind(), LockErrorKind::Invalid(_))
    }
}

/// The text of an error without its resource. Log lines have the resource as a field.
pub(crate) struct Reason<'a>(pub(crate) &'a LockError);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind() {
            LockErrorKind::Contended(contended) => {
                contended.fmt(f)?;
                self.0.details.holder.iter().try_for_each(|it| it.fmt(f))
            }
            LockErrorKind::Unavailable(unavailable) => unavailable.fmt(f),
            LockErrorKind::AlreadyRun(run) => run.fmt(f),
            LockErrorKind::Lost(over) => over.fmt(f),
            _ => self.0.fmt(f),
        }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorDetails { resource, site, .. } = &*self.details;
        let (name, reason) = (site.name(), Reason(self));
        match self.kind() {
            LockErrorKind::Contended(_) => write!(f, "`{resource}` is {reason}"),
            LockErrorKind::Unavailable(_) => {
                write!(f, "`{resource}` could not be locked: {reason}")
            }
            LockErrorKind::AlreadyRun(_) => write!(f, "`{resource}` was {reason}"),
            LockErrorKind::Lost(_) => write!(f, "the lock on `{resource}` was lost: {reason}"),
            LockErrorKind::ShuttingDown => write!(
                f,
                "`{resource}` was not locked: this process is shutting down, or dropped its `Redlock`",
            ),
            LockErrorKind::NotInitialized if is_forked() => {
                write!(f, "`{name}` needs a lock, and {FORKED}")
            }
            LockErrorKind::NotInitialized => write!(
                f,
                "`{name}` needs a lock, but redlock is not initialized; call \
                 `redlock_runtime::init(Config::load()?).await` at the start of `main`, and keep what it returns; in a \
                 test, make a `redlock_runtime::testing::TestLocks` first",
            ),
            LockErrorKind::UnknownPool { pool, configured } => write!(
                f,
                "`{resource}` names the pool `{pool}`, which is not configured; configured: {}",
                configured.join(", "),
            ),
            LockErrorKind::Invalid(invalid) => {
                write!(f, "`{resource}` cannot be locked: {invalid}")
            }
        }
    }
}

impl fmt::Debug for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockError({self})")
    }
}

/// Has no source. The text already has all details, and a program that prints the chain would print them twice.
impl std::error::Error for LockError {}
