//! A kit for tests of code that locks. No server is needed.
//!
//! ```
//! use redlock_runtime::testing::TestLocks;
//! use redlock_runtime::{LockError, redlock};
//!
//! #[redlock(resource = "order:{id}", retry_count = 0)]
//! async fn charge(id: u64) -> Result<String, LockError> {
//!     Ok(format!("order {id} charged"))
//! }
//!
//! // In a test: #[tokio::test]
//! # #[tokio::main(flavor = "current_thread")]
//! async fn main() {
//!     // In-process nodes. Calls on this test's runtime find them, and no other calls do.
//!     let locks = TestLocks::new();
//!
//!     charge(42).await.unwrap();
//!     locks.assert_locked("order:42");
//!     locks.assert_all_free();
//!
//!     // Another client has the lock.
//!     let hold = locks.hold("order:42");
//!     assert!(charge(42).await.unwrap_err().is_contended());
//!     hold.release();
//!     charge(42).await.unwrap();
//!
//!     // One node of three is down, then all are.
//!     locks.node("a").cut();
//!     charge(42).await.unwrap();
//!     locks.cut_all();
//!     assert!(charge(42).await.unwrap_err().is_unavailable());
//! }
//! ```
//!
//! # Which calls find it
//! [`TestLocks::new`] attaches itself to the tokio runtime that it is called on, and every
//! `#[tokio::test]` and `#[actix_web::test]` has one of its own. So the calls of a test and of all
//! tasks that it spawns, on any thread and of either flavour of runtime, find the test's registry:
//! handlers behind axum's `Router::oneshot` or a real `axum::serve`, and behind actix's
//! `test::init_service`. Tests that run in parallel do not see each other.
//!
//! An actix `HttpServer` has a runtime for each of its workers; [`attach`](TestLocks::attach) them in
//! the closure that makes the `App`. Where several tests share one runtime, run each in its
//! [`scope`](TestLocks::scope).
//!
//! # Time
//! Leases, retries and renewals count on tokio's clock. With `#[tokio::test(start_paused = true)]`
//! (tokio's feature `test-util`) they take no time: `tokio::time::advance` makes a lease expire, and
//! while everything waits, the clock jumps to the next event that is due. A paused clock also jumps
//! while a real socket is waited for, so leave it running in a test with sockets.
//!
//! Jitter and owner tokens are the same in every run.
//!
//! # Example: a lease that ends, in no time
//! ```
//! use std::time::Duration;
//! use redlock_runtime::testing::TestLocks;
//! use redlock_runtime::{LockError, redlock};
//!
//! #[redlock(resource = "report", ttl = "1m")]
//! async fn report() -> Result<(), LockError> {
//!     tokio::time::sleep(Duration::from_secs(3600)).await; // much too long
//!     Ok(())
//! }
//!
//! // In a test: #[tokio::test(start_paused = true)]
//! # #[tokio::main(flavor = "current_thread")]
//! async fn main() {
//! #   tokio::time::pause();
//!     let locks = TestLocks::new();
//!     assert!(report().await.unwrap_err().is_lost());
//!     locks.assert_all_free();
//! }
//! ```

mod acquisition;
mod assertions;
mod check_config;
mod environment;
mod hold;
mod nodes;
mod other_client;
mod record;
mod runtimes;
mod waiting;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::{Clock, Entropy};
use redlock_core::{Environment, MemoryNode, Resource};
use tokio::runtime::Handle;

pub use acquisition::{Acquisition, Outcome};
pub use check_config::check_config;
pub use hold::Hold;
pub use other_client::OtherClient;

use crate::config::{CheckedConfig, Config};
use crate::registry::pools::PoolNode;
use crate::registry::{Registry, ShutdownReport, shutdown};
use environment::{RuntimeClock, RuntimeSpawner, Seeded};
use record::Journal;

/// A test need not set `max_ttl` unless the test is about it.
const LENIENT_MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The registry of one test, over nodes inside the process. See the [module](self).
///
/// Clones are the same registry. When the last clone is dropped, the registry is detached from all
/// runtimes and refuses further locks.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let locks = redlock_runtime::testing::TestLocks::new();
/// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
/// locks.assert_locked("order:42");
/// # }
/// ```
#[derive(Clone)]
pub struct TestLocks {
    inner: Arc<TestLocksShared>,
}

struct TestLocksShared {
    registry: Registry,
    journal: Arc<Journal>,
    entropy: Arc<dyn Entropy>,
    key_prefix: Vec<u8>,
}

impl TestLocks {
    /// Starts a registry with a node for each of the pools `a`, `b`, `c`, which are the default ones,
    /// and for each other pool that an annotated function of the program names; and attaches it to the
    /// current runtime. Everything else is as [`Config::new`] has it, but for a `max_ttl` of a day.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let locks = redlock_runtime::testing::TestLocks::new();
    /// assert_eq!(locks.registry().health().len(), 3);
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[track_caller]
    pub fn new() -> Self {
        Self::with_config(Config::new().max_ttl(LENIENT_MAX_TTL))
    }

    /// Starts a registry with the settings of `config`, for example the service's own, except for
    /// its servers: each pool becomes an in-process node. If `config` has no pools, the pools are
    /// those of [`new`](Self::new). Overrides of functions that the test program does not have are
    /// left out.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let config = redlock_runtime::Config::new().key_prefix("shop:");
    /// let locks = redlock_runtime::testing::TestLocks::with_config(config);
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime, and if [`init`](crate::init()) would refuse the configuration.
    /// The program's annotated functions are not checked against it: [`check_config()`] does that.
    #[track_caller]
    pub fn with_config(config: Config) -> Self {
        let runtime = Handle::current();
        let config = nodes::in_memory(config);
        let checked = match CheckedConfig::new(&config) {
            Ok(checked) => checked,
            Err(error) => panic!("{error}"),
        };
        let clock: Arc<dyn Clock> = Arc::new(RuntimeClock::new(&runtime));
        let pools = checked.addresses.into_keys().map(|name| {
            let node = MemoryNode::new(name.as_str(), Arc::clone(&clock));
            (name, PoolNode::in_memory(node))
        });
        let pools = pools.collect();
        let environment = Environment {
            clock,
            entropy: Arc::<Seeded>::default(),
            spawner: Arc::new(RuntimeSpawner(runtime.clone())),
        };
        let entropy = Arc::clone(&environment.entropy);
        let mut registry = Registry::new(&config, environment, pools, &checked.overrides);
        let journal = Arc::<Journal>::default();
        let shared = Arc::get_mut(&mut registry.shared).expect("nobody else has it yet");
        shared.journal = Some(Arc::clone(&journal) as _);
        registry.shared.recheck_at_new_epochs();
        runtimes::attach(runtime.id(), &registry);
        let inner = TestLocksShared {
            registry,
            journal,
            entropy,
            key_prefix: config.key_prefix.into_bytes(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Attaches the registry to the current runtime as well: for servers that have runtimes of their
    /// own.
    ///
    /// # Example: a worker with a runtime of its own
    /// ```
    /// # use redlock_runtime::testing::TestLocks;
    /// # use tokio::runtime::Builder;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let locks = TestLocks::new();
    /// let worker = {
    ///     let locks = locks.clone();
    ///     std::thread::spawn(move || {
    ///         let runtime = Builder::new_current_thread().build().unwrap();
    ///         runtime.block_on(async {
    ///             locks.attach();
    ///             let sweep = redlock_runtime::lock("sweep").run(async {});
    ///             sweep.await.unwrap();
    ///         });
    ///     })
    /// };
    /// # worker.join().unwrap();
    /// locks.assert_locked("sweep");
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[track_caller]
    pub fn attach(&self) {
        runtimes::attach(Handle::current().id(), &self.inner.registry);
    }

    /// Runs `future` with this registry for every call that it makes, also if another is attached to
    /// the runtime. A task that it spawns is not part of it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.scope(async { redlock_runtime::lock("order:42").acquire().await.unwrap() }).await;
    /// locks.assert_locked("order:42");
    /// # }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future drops `future`.
    pub async fn scope<F: Future>(&self, future: F) -> F::Output {
        self.inner.registry.clone().scope(future).await
    }

    /// The registry, to ask for [`held`](Registry::held) and [`health`](Registry::health).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// assert_eq!(locks.registry().held_count(), 0);
    /// # }
    /// ```
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// What calls did about their locks, in the order in which they began.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// println!("{}", locks.acquisitions()[0]);
    /// # }
    /// ```
    pub fn acquisitions(&self) -> Vec<Acquisition> {
        self.inner.journal.acquisitions()
    }

    /// Those for `resource`, by itself or among others.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// assert_eq!(locks.acquisitions_of("order:42").len(), 1);
    /// # }
    /// ```
    pub fn acquisitions_of(&self, resource: impl Into<Resource>) -> Vec<Acquisition> {
        let resource = resource.into();
        let mut acquisitions = self.acquisitions();
        acquisitions.retain(|acquisition| acquisition.is_of(&resource));
        acquisitions
    }

    /// Shuts the registry down as [`Redlock::shutdown`](crate::Redlock::shutdown) does.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let report = locks.shutdown().await;
    /// assert!(report.stuck.is_empty());
    /// # }
    /// ```
    ///
    /// # Cancellation
    /// The shutdown goes on in the background. Dropping the future only gives up the report.
    pub async fn shutdown(&self) -> ShutdownReport {
        shutdown::begin(&self.inner.registry);
        self.inner.registry.shared.shutdown.report().await
    }
}

impl Default for TestLocks {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TestLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.registry.fmt(f)
    }
}

impl Drop for TestLocksShared {
    fn drop(&mut self) {
        runtimes::detach(&self.registry);
        shutdown::begin(&self.registry);
    }
}
