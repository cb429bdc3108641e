//! Leader election: of all processes that stand for an office, one leads.
//!
//! **An election does not promise that there is never more than one leader.** A leader that was stopped for longer than
//! its lease, or whose last write is delayed, may act for a moment next to its successor. Only a store that checks
//! the [fencing token](Term::fencing_token) refuses such a write. An election also does not promise that there is a
//! leader at every moment, or which candidate is elected. A report of the leader may be out of date when it arrives.
//!
//! At most one process has the lock of the office from a majority of the nodes. The body of that process runs, as a
//! *term*, while the lock is held. The body has ended before the lock is released, and before the process stands again.
//! Losing the office ends the body and nothing else.
//!
//! * [`election()`](crate::election()) creates an [`Election`]: a candidate, with its parameters.
//! * [`Election::run`] stands until the process shuts down, and runs a body in each [`Term`]. [`Election::try_run`] is
//!   for bodies that may fail.
//! * [`Term::proceed`] says before each step whether to continue.
//! * [`Election::watch`] shows any process who leads, with a short delay.
//! * [`Term::resign`] and [`Election::max_term`] pass the office on. [`Election::resign`] leaves the election.
//!
//! # Example: one process of the fleet indexes
//! ```
//! use std::time::Duration;
//! use redlock_runtime::{Config, LockError, election};
//!
//! async fn index_next(fence: i64) { /* … WHERE fence <= $1 */ }
//!
//! async fn lead() -> Result<(), LockError> {
//!     let election = election("reindex").ttl(Duration::from_secs(10));
//! #   let leaver = election.clone();
//!     election.run(async |term| {
//!         while term.proceed().await {
//!             index_next(term.fencing_token().as_i64()).await;
//! #           leaver.resign();
//!         }
//!     }).await
//! }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let redlock = redlock_runtime::Redlock::start(Config::new().pool("a", "memory://a")).await?;
//! # redlock.registry().clone().scope(lead()).await?;
//! # Ok(()) }
//! ```

mod candidate;
mod term;
mod watch;

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::internal::debug_in_part;
use tokio::sync::SetOnce;

use crate::acquire::LockSpec;
use crate::parameters::LockOptions;
use crate::site::Site;

pub use term::Term;
pub use watch::{Leader, LeaderStatus, LeaderWatch};

/// Creates a candidate for the office `resource`, which is the name of a lock. Nothing happens
/// before [`run`](Election::run).
///
/// The [module](mod@crate::election) documents what an election does not promise.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let election = redlock_runtime::election("reindex");
/// # let leaver = election.clone();
/// election.run(async |term| {
///     while term.proceed().await {
///         println!("one step of what only the leader does");
/// #       leaver.resign();
///     }
/// }).await?;
/// # Ok(()) }
/// ```
#[track_caller]
pub fn election(resource: impl Into<Resource>) -> Election {
    let site = Site::at(Location::caller());
    Election {
        spec: LockSpec::new(site, resource.into()),
        max_term: None,
        value: None,
        resigned: Arc::default(),
    }
}

/// A candidate for an office: see [`election`](crate::election()). Clones are the same candidate, so if one of
/// them [resigns](Self::resign), all do.
///
/// Parameters that are not set here come from the registry's defaults.
#[derive(Clone)]
#[must_use = "no process stands until `run` is called"]
pub struct Election {
    spec: LockSpec,
    max_term: Option<Duration>,
    value: Option<Arc<str>>,
    /// Set once a clone of this candidate has resigned.
    resigned: Arc<SetOnce<()>>,
}

impl Election {
    /// Sets the name of the election in logs, spans, metrics and the page of `redlock-inspect`. Without a name, they
    /// show the file and line of the call of [`election`](crate::election()). The name is a label of metrics, so it has
    /// to be a constant.
    pub fn name(mut self, name: &'static str) -> Self {
        self.spec.site = self.spec.site.named(name);
        self
    }

    /// Sets the ttl of the lock. A leader that was killed blocks the next one for this long. A leader that is stopped
    /// for this long loses the office.
    ///
    /// The lease is renewed each time a third of its validity has passed. The default is the ttl of locks; 5 s to 15 s
    /// are usual.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.spec.options = self.spec.options.ttl(ttl);
        self
    }

    /// Limits the length of a term. After this time the term is asked to end, as by [`Term::resign`], so that the work
    /// moves through the fleet. If no other process stands, the same candidate is elected again. There is no limit by
    /// default.
    pub fn max_term(mut self, max_term: Duration) -> Self {
        self.max_term = Some(max_term);
        self
    }

    /// Sets the text that watches see while this candidate leads, such as its address. The text has at most 256 bytes,
    /// and becomes the [note](crate::LockBuilder::note) of the lock. Everybody who can read the nodes can read the
    /// text, so keep secrets out.
    pub fn value(mut self, value: impl Into<String>) -> Self {
        let value = value.into();
        self.spec = self.spec.note(format_args!("{value}"));
        self.value = Some(value.into());
        self
    }

    /// Sets the pools on which the office is locked, instead of the default ones.
    pub fn pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.spec.pools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets further parameters of the lock: `retry_delay`, `clock_drift_factor`, `min_validity`.
    ///
    /// The election sets all other parameters itself, and [`run`](Self::run) refuses them. An election waits forever,
    /// renews the lease without limit, and asks for a fencing token. When the office is lost, the election cuts the
    /// body off. There is one leader at a time, which `permits` and `kind` would change.
    pub fn options(mut self, options: LockOptions) -> Self {
        self.spec.options = options.above(self.spec.options);
        self
    }

    /// Leaves the election for good. A term in progress is asked to end, as by [`Term::resign`], and [`run`](Self::run)
    /// completes once the lock is released. A candidate that waits stops waiting.
    ///
    /// `resign` may also be called before `run`. Further calls have no effect. To stand again, create a new candidate
    /// with [`election`](crate::election()).
    pub fn resign(&self) {
        // An error means that the candidate has resigned before.
        let _ = self.resigned.set(());
    }
}

debug_in_part!(Election, it => resource: it.spec.resource, site: it.spec.site);
