//! **An election does not promise that there is never more than one leader.** A leader that stands still for
//! longer than its lease, or whose last write is late on its way, may act for a moment beside the next
//! leader. Only a store that checks the [fencing token](Term::fencing_token) refuses such an act. Nor does an
//! election promise that there is a leader at every moment, that a look at the leader is true when it
//! arrives, or which candidate is elected.
//!
//! What it does: of all processes that stand for an office, at most one has the lock of that name from a
//! majority of the nodes. Its body runs, as a *term*, while the lock is held. The body is gone before the
//! lock is released, and before the process stands again. Losing the office ends the body and nothing else.
//!
//! * [`election()`](crate::election()) begins an [`Election`]: a candidate, with its parameters.
//! * [`Election::run`] stands until the process shuts down, and runs a body in each [`Term`].
//!   [`Election::try_run`] is for bodies that may fail.
//! * [`Term::proceed`] says before each step whether to go on.
//! * [`Election::watch`] shows any process who leads, as of a moment ago.
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

/// Begins a candidate for the office `resource`, which is the name of a lock. Nothing happens before
/// [`run`](Election::run).
///
/// The [module](mod@crate::election) says what an election does not promise.
///
/// ```
/// # use redlock_runtime::{Config, LockError, Redlock};
/// # async fn example() -> Result<(), LockError> {
/// let election = redlock_runtime::election("reindex");
/// # let leaver = election.clone();
/// election.run(async |term| {
///     while term.proceed().await {
///         println!("one step of what only the leader does");
/// #       leaver.resign();
///     }
/// }).await?;
/// # Ok(())
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
/// # redlock.registry().clone().scope(example()).await?;
/// # Ok(())
/// # }
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

/// A candidate for an office: see [`election`](crate::election()). Clones are the same candidate: if one
/// [resigns](Self::resign), all do.
///
/// A parameter that is not set here comes from the registry's defaults.
#[derive(Clone)]
#[must_use = "nobody stands before `run`"]
pub struct Election {
    spec: LockSpec,
    max_term: Option<Duration>,
    value: Option<Arc<str>>,
    /// Set once one of the clones has resigned.
    resigned: Arc<SetOnce<()>>,
}

impl Election {
    /// Names the election, as logs, spans, metrics and the page of `redlock-inspect` show it. Without one
    /// they show the file and the line of the call of [`election`](crate::election()). It is a label of
    /// metrics, and so no text of run time.
    ///
    /// ```
    /// let election = redlock_runtime::election("shard:7").name("shards");
    /// # drop(election);
    /// ```
    pub fn name(mut self, name: &'static str) -> Self {
        self.spec.site = self.spec.site.named(name);
        self
    }

    /// Sets the ttl of the lock: for so long a leader that was killed blocks the next one. The lease is
    /// renewed each time that a third of its validity has passed. By default it is the ttl of locks. 5 s to
    /// 15 s are usual: a leader that stands still for so long is deposed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let election = redlock_runtime::election("reindex").ttl(Duration::from_secs(10));
    /// # drop(election);
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.spec.options = self.spec.options.ttl(ttl);
        self
    }

    /// Limits a term. After this time the term is asked to end, as by [`Term::resign`], so that the work moves
    /// through the fleet. If no other process stands, the same one is elected again. Default: no limit.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let election = redlock_runtime::election("reindex").max_term(Duration::from_secs(3600));
    /// # drop(election);
    /// ```
    pub fn max_term(mut self, max_term: Duration) -> Self {
        self.max_term = Some(max_term);
        self
    }

    /// Sets the text that watches see while this candidate leads, such as its address: at most 256 bytes.
    /// Put no secret there, because everybody who can read the nodes can read it. It is the lock's
    /// [note](crate::LockBuilder::note).
    ///
    /// ```
    /// let election = redlock_runtime::election("reindex").value("http://10.0.0.7:3000");
    /// # drop(election);
    /// ```
    pub fn value(mut self, value: impl Into<String>) -> Self {
        let value = value.into();
        self.spec = self.spec.note(format_args!("{value}"));
        self.value = Some(value.into());
        self
    }

    /// Sets the pools on which the office is locked, instead of the default ones.
    ///
    /// ```
    /// let election = redlock_runtime::election("reindex").pools(["a", "b", "c"]);
    /// # drop(election);
    /// ```
    pub fn pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.spec.pools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets further parameters of the lock: `retry_delay`, `clock_drift_factor`, `min_validity`. The others are
    /// the election's own, and [`run`](Self::run) refuses them: it waits for ever, renews the lease without
    /// limit, asks for a fencing token, cuts the body off when the office is lost, and has one leader at a
    /// time, which `permits` and `kind` would change.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redlock_runtime::parameters::LockOptions;
    ///
    /// let options = LockOptions::new().retry_delay(Duration::from_millis(500));
    /// let election = redlock_runtime::election("reindex").options(options);
    /// # drop(election);
    /// ```
    pub fn options(mut self, options: LockOptions) -> Self {
        self.spec.options = options.above(self.spec.options);
        self
    }

    /// Leaves the election. A term that runs is asked to end, as by [`Term::resign`], and
    /// [`run`](Self::run) completes once its lock is released. A candidate that waits stops waiting. Once is
    /// enough, before `run` too; more calls have no effect. A candidate that has resigned never stands
    /// again: [`election`](crate::election()) makes a new one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let election = redlock_runtime::election("reindex");
    /// election.resign();
    /// election.run(async |_term| unreachable!("it stands no more")).await?;
    /// # Ok(()) }
    /// ```
    pub fn resign(&self) {
        // An error says that it has resigned before.
        let _ = self.resigned.set(());
    }
}

debug_in_part!(Election, it => resource: it.spec.resource, site: it.spec.site);
