//! The registry of one test: [`TestLocks`].

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redlock_core::env::{Clock, Entropy};
use redlock_core::internal::debug_in_part;
use redlock_core::testing::every_key;
use redlock_core::{Environment, LeaseHandle, MemoryNode, Resource};
use tokio::runtime::Handle;

use super::environment::{RuntimeClock, RuntimeSpawner, Seeded};
use super::other_client::{OtherClient, OtherLease};
use super::runtimes;
use super::test_nodes::{TestNodes, in_memory};
use crate::config::{CheckedConfig, Config};
use crate::registry::pools::PoolNode;
use crate::registry::{Registry, RegistryShared, ShutdownReport, shutdown};
use crate::telemetry::journal::{Acquisition, Journal, Outcome};

/// The default `max_ttl` of tests, which is long so that few tests have to set it.
const LENIENT_MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest wait of a test for an event that takes milliseconds on an idle machine.
const REAL_LIMIT: Duration = Duration::from_secs(10);

/// The longest time that a paused clock may jump before a test gives up. Locks end sooner.
const PAUSED_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The registry of one test, with nodes inside the process. The [module](super) explains its use.
///
/// Clones share one registry. The drop of the last clone detaches the registry from all runtimes and
/// makes it refuse further locks.
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
    pub(super) shared: Arc<TestLocksShared>,
}

pub(super) struct TestLocksShared {
    registry: Registry,
    pub(super) nodes: TestNodes,
    journal: Arc<Journal>,
    pub(super) entropy: Arc<dyn Entropy>,
}

/// The registry.
impl TestLocks {
    /// Starts a registry and attaches it to the current runtime.
    ///
    /// The registry has a node for each of the default pools `a`, `b` and `c`, and for each other pool that an
    /// annotated function of the program names. The `max_ttl` is a day, and all other settings are those of
    /// [`Config::new`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let locks = redlock_runtime::testing::TestLocks::new();
    /// assert_eq!(locks.registry().health().len(), 3);
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    #[track_caller]
    pub fn new() -> Self {
        Self::with_config(Config::new().max_ttl(LENIENT_MAX_TTL))
    }

    /// Starts a registry with the settings of `config`, for example the service's own.
    ///
    /// An in-process node replaces the server of each pool. If `config` has no pools, the pools are
    /// those of [`new`](Self::new). Overrides for functions that the test program lacks are ignored.
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
    /// Panics outside of a tokio runtime, and if [`init`](crate::init()) would refuse the configuration.
    /// Only [`check_config`](super::check_config()) checks the program's annotated functions against it.
    #[track_caller]
    pub fn with_config(config: Config) -> Self {
        let runtime = Handle::current();
        let config = in_memory(config);
        let checked = match CheckedConfig::new(config) {
            Ok(checked) => checked,
            Err(error) => panic!("{error}"),
        };
        let clock: Arc<dyn Clock> = Arc::new(RuntimeClock::new(&runtime));
        let node = |pool: String| {
            let node = MemoryNode::new(pool.as_str(), Arc::clone(&clock));
            (pool, node)
        };
        let nodes = TestNodes {
            by_pool: checked.addresses.keys().cloned().map(node).collect(),
            key_prefix: checked.config.key_prefix.clone().into_bytes(),
        };
        let pool = |(name, node): (&String, &MemoryNode)| {
            (name.clone(), PoolNode::in_memory(node.clone()))
        };
        let pools = nodes.by_pool.iter().map(pool).collect();
        let entropy: Arc<dyn Entropy> = Arc::<Seeded>::default();
        let spawner = Arc::new(RuntimeSpawner(runtime.clone()));
        let environment = Environment::new(clock, Arc::clone(&entropy), spawner);
        let mut shared = RegistryShared::new(&checked, environment, pools);
        let journal = Arc::<Journal>::default();
        shared.journal = Some(Arc::clone(&journal));
        shared.recheck_at_new_epochs();
        let registry = Registry {
            shared: Arc::new(shared),
        };
        runtimes::attach(runtime.id(), &registry);
        let shared = TestLocksShared {
            registry,
            nodes,
            journal,
            entropy,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Attaches the registry to the current runtime too, for a server with its own runtimes.
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
    /// Panics outside of a tokio runtime.
    #[track_caller]
    pub fn attach(&self) {
        runtimes::attach(Handle::current().id(), &self.shared.registry);
    }

    /// Runs `future`, whose calls use this registry even if the runtime has another.
    ///
    /// The calls of a task that `future` spawns use the registry of their runtime.
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
        self.shared.registry.clone().scope(future).await
    }

    /// Returns the registry, which has [`held`](Registry::held) and [`health`](Registry::health).
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// Shuts the registry down, as [`Redlock::shutdown`](crate::Redlock::shutdown) does.
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
    /// Dropping the future only discards the report. The shutdown continues in the background.
    pub async fn shutdown(&self) -> ShutdownReport {
        shutdown::begin(&self.shared.registry);
        self.shared.registry.shared.shutdown.report().await
    }
}

/// The nodes, their faults, and other clients.
impl TestLocks {
    /// Returns the node of a pool, to break it or to inspect its keys.
    ///
    /// [`cut`](MemoryNode::cut), [`hang`](MemoryNode::hang) and [`fail`](MemoryNode::fail) break the node until
    /// [`restore`](MemoryNode::restore).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.node("a").cut(); // One node of three.
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// assert!(locks.node("a").keys().is_empty());
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if the pool is unknown.
    #[track_caller]
    pub fn node(&self, pool: &str) -> &MemoryNode {
        self.shared.nodes.of(pool)
    }

    /// Cuts all nodes off, so that every acquisition fails as `Unavailable`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.cut_all();
    /// let refused = redlock_runtime::lock("order:42").retry_count(0).acquire().await;
    /// assert!(refused.unwrap_err().is_unavailable());
    /// # }
    /// ```
    pub fn cut_all(&self) {
        self.shared.nodes.iter().for_each(MemoryNode::cut);
    }

    /// Ends the faults of all nodes.
    pub fn restore_all(&self) {
        self.shared.nodes.iter().for_each(MemoryNode::restore);
    }

    /// Makes the holder of `resource` lose its lock, and deletes the lock's keys on all nodes.
    ///
    /// The holder behaves as if an extension had found its keys gone: the body is cancelled at its next await, and
    /// `lost()` completes with [`LeaseEnd::Taken`](crate::lease::LeaseEnd::Taken).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use redlock_runtime::lease::LeaseEnd;
    ///
    /// let lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// locks.lose("order:42");
    /// assert_eq!(lease.lost().await, LeaseEnd::Taken(None));
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if the code under test does not hold `resource`.
    #[track_caller]
    pub fn lose(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let leases = self.shared.journal.leases();
        let is_of = |lease: &&LeaseHandle| covers(lease.resource(), &resource);
        let lost: Vec<_> = leases.iter().filter(is_of).collect();
        let message = format_args!("`{resource}` cannot be lost: it is not held");
        self.expect(!lost.is_empty(), message);
        for lease in lost {
            self.shared.nodes.delete(lease.keys());
            lease.lose_keys();
        }
    }

    /// Makes all nodes forget all keys, like servers that are flushed or restart empty.
    ///
    /// Every lease is lost, with [`LeaseEnd::Forgotten`](crate::lease::LeaseEnd::Forgotten).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use redlock_runtime::lease::LeaseEnd;
    ///
    /// let lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// locks.lose_all();
    /// assert_eq!(lease.lost().await, LeaseEnd::Forgotten);
    /// # }
    /// ```
    pub fn lose_all(&self) {
        self.shared.nodes.delete_all();
        self.shared.nodes.iter().for_each(MemoryNode::begin_epoch);
    }

    /// Makes another client hold `resource` on all nodes, for a minute or until the drop.
    ///
    /// The error of a refused call names `other-client/1` as the holder.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let hold = locks.hold("order:42");
    /// let refused = redlock_runtime::lock("order:42").retry_count(0).acquire().await;
    /// assert!(refused.unwrap_err().is_contended());
    /// # drop(hold);
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics like [`OtherClient::hold`].
    #[track_caller]
    pub fn hold(&self, resource: impl Into<Resource>) -> OtherLease {
        self.other_client().hold(resource)
    }

    /// Returns another client, whose name, ttl and pools can be set before it locks.
    ///
    /// # Example: one node refuses, and the attempt wins by the other two
    /// ```
    /// # use redlock_runtime::testing::TestLocks;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let locks = TestLocks::new();
    /// let _hold = locks.other_client().named("billing-7/3121").on(["a"]).hold("order:42");
    /// let lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// # lease.release().await;
    /// # }
    /// ```
    pub fn other_client(&self) -> OtherClient {
        OtherClient::new(self.clone())
    }
}

/// The record of what calls did.
impl TestLocks {
    /// Returns the acquisitions of all calls, in the order in which they began.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use redlock_runtime::testing::Outcome;
    ///
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// let acquisition = &locks.acquisitions()[0];
    /// println!("{acquisition}");
    /// assert_eq!(acquisition.pools, ["a", "b", "c"]);
    /// assert!(matches!(acquisition.outcome, Outcome::Released));
    /// # }
    /// ```
    pub fn acquisitions(&self) -> Vec<Acquisition> {
        self.shared.journal.acquisitions()
    }

    /// Returns the acquisitions that include `resource`, alone or among other resources.
    pub fn acquisitions_of(&self, resource: impl Into<Resource>) -> Vec<Acquisition> {
        let resource = resource.into();
        let mut acquisitions = self.acquisitions();
        acquisitions.retain(|acquisition| covers(&acquisition.resource, &resource));
        acquisitions
    }

    /// Asserts that the code under test locked `resource`, alone or among other resources.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// locks.assert_locked("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if no call has locked `resource`.
    #[track_caller]
    pub fn assert_locked(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = self.any(&resource, Acquisition::was_locked);
        self.expect(is_so, format_args!("`{resource}` was not locked"));
    }

    /// Asserts that the code under test has never locked `resource`, although a call may have been refused.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.assert_not_locked("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if a call has locked `resource`.
    #[track_caller]
    pub fn assert_not_locked(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = !self.any(&resource, Acquisition::was_locked);
        self.expect(is_so, format_args!("`{resource}` was locked"));
    }

    /// Asserts that the code under test holds `resource` now.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let _lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// locks.assert_held("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if no call holds `resource`.
    #[track_caller]
    pub fn assert_held(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = self.any(&resource, Acquisition::is_held);
        self.expect(is_so, format_args!("`{resource}` is not held"));
    }

    /// Asserts that the next caller can lock `resource`, because all nodes are free of its keys.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// locks.assert_free("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if a node has a key of `resource`.
    #[track_caller]
    pub fn assert_free(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let nodes = &self.shared.nodes;
        let mut keys = nodes.keys_of(&resource);
        if keys.names().len() == 1 {
            keys = every_key(&keys, &nodes.key_prefix);
        }
        let held = nodes.show_locks(|key| keys.names().any(|name| name == key));
        let message = format_args!("`{resource}` is not free: {held}");
        self.expect(held.is_empty(), message);
    }

    /// Asserts that all nodes are free of the keys of all locks.
    ///
    /// Use this at the end of a test, to see that no lock leaked. A hanging node still has the keys that it had when it
    /// began to hang.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// locks.assert_all_free();
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if a node has a key of a lock.
    #[track_caller]
    pub fn assert_all_free(&self) {
        let held = self.shared.nodes.show_locks(|_| true);
        self.expect(
            held.is_empty(),
            format_args!("some locks are not free: {held}"),
        );
    }

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
    /// Panics after ten seconds, or with a paused clock after a day.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    #[track_caller]
    pub fn until_held(&self, resource: impl Into<Resource>) -> impl Future<Output = ()> {
        self.until(resource.into(), "is not held", |of| {
            of.iter().any(Acquisition::is_held)
        })
    }

    /// Waits until a call has requested `resource` and has no answer yet.
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

    /// Waits until the acquisitions of `resource` satisfy `is_so`. Panics at the time limit.
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
                let mut changed = pin!(locks.shared.journal.changed.notified());
                changed.as_mut().enable();
                if is_so(&locks.acquisitions_of(resource.clone())) {
                    return;
                }
                if tokio::time::timeout(pause, changed).await.is_err() {
                    // A paused clock reaches this line at once, while other tasks may still have work.
                    pause = pause.saturating_mul(2);
                }
                let is_patient = began.elapsed() < REAL_LIMIT && pause < PAUSED_LIMIT;
                let message = format_args!("`{resource}` {otherwise}, at {caller}");
                locks.expect(is_patient, message);
            }
        }
    }

    fn any(&self, resource: &Resource, is_so: impl Fn(&Acquisition) -> bool) -> bool {
        self.acquisitions_of(resource.clone()).iter().any(is_so)
    }

    /// Asserts `is_so`, with a panic that shows the acquisitions of all calls.
    #[track_caller]
    fn expect(&self, is_so: bool, otherwise: impl fmt::Display) {
        assert!(is_so, "{otherwise}; {}", self.show_acquisitions());
    }

    /// Formats the acquisitions of all calls for a panic, one a line.
    pub(super) fn show_acquisitions(&self) -> String {
        let acquisitions = self.acquisitions();
        if acquisitions.is_empty() {
            return "no call asked for any lock".to_owned();
        }
        let lines = acquisitions.iter().map(|it| format!("\n  {it}"));
        format!("what calls did:{}", lines.collect::<String>())
    }
}

impl Default for TestLocks {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

debug_in_part!(TestLocks, it => registry: it.shared.registry);

impl Drop for TestLocksShared {
    fn drop(&mut self) {
        runtimes::detach(&self.registry);
        shutdown::begin(&self.registry);
    }
}

/// True if `whole` has all names of `part`, and `part` has a name.
fn covers(whole: &Resource, part: &Resource) -> bool {
    let mut names = part.names();
    names.len() > 0 && names.all(|name| whole.names().any(|other| other == name))
}
