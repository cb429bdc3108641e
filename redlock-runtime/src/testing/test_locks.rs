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

/// The `max_ttl` of tests. Only a test of the limit has to set one.
const LENIENT_MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that a test waits for something that takes milliseconds, on a busy machine.
const REAL_LIMIT: Duration = Duration::from_secs(10);

/// The time over which a paused clock may jump before a test gives up: longer than any lock lasts.
const PAUSED_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The registry of one test, over nodes inside the process. See the [module](super).
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
    /// Starts a registry and attaches it to the current runtime. It has a node for each of the pools `a`, `b`, `c`,
    /// which are the default ones, and for each other pool that an annotated function of the program names.
    /// Everything else is as [`Config::new`] has it, except for a `max_ttl` of a day.
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

    /// Starts a registry with the settings of `config`, for example the service's own. Each pool becomes an
    /// in-process node, in the place of its server. If `config` has no pools, the pools are
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
    /// The program's annotated functions are not checked against it:
    /// [`check_config`](super::check_config()) does that.
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
        runtimes::attach(Handle::current().id(), &self.shared.registry);
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
        self.shared.registry.clone().scope(future).await
    }

    /// Returns the registry, to ask for [`held`](Registry::held) and [`health`](Registry::health).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// assert_eq!(locks.registry().held_count(), 0);
    /// # }
    /// ```
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
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
        shutdown::begin(&self.shared.registry);
        self.shared.registry.shared.shutdown.report().await
    }
}

/// The nodes, their faults, and other clients.
impl TestLocks {
    /// Returns the node of a pool: to [`cut`](MemoryNode::cut) it off, to have it
    /// [`hang`](MemoryNode::hang) or [`fail`](MemoryNode::fail), to [`restore`](MemoryNode::restore)
    /// it, and to look into.
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
    /// If there is no such pool.
    #[track_caller]
    pub fn node(&self, pool: &str) -> &MemoryNode {
        self.shared.nodes.of(pool)
    }

    /// Cuts all nodes off: every acquisition is `Unavailable`.
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

    /// Restores all nodes.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.cut_all();
    /// locks.restore_all();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// # }
    /// ```
    pub fn restore_all(&self) {
        self.shared.nodes.iter().for_each(MemoryNode::restore);
    }

    /// Makes the holder of `resource` lose its lock, as if an extension had found its keys gone. The body
    /// is cancelled at its next await, and `lost()` completes with
    /// [`LeaseEnd::Taken`](crate::lease::LeaseEnd::Taken). Afterwards no node has the keys.
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
    /// If the code under test does not hold it.
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

    /// Makes all nodes forget everything, as flushed servers do, or servers that restart empty. Every
    /// lease is lost, with [`LeaseEnd::Forgotten`](crate::lease::LeaseEnd::Forgotten).
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

    /// Makes another client take `resource` on all nodes, for a minute or until its lease is
    /// dropped. A refused call is told that `other-client/1` holds the lock.
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
    /// As [`OtherClient::hold`].
    #[track_caller]
    pub fn hold(&self, resource: impl Into<Resource>) -> OtherLease {
        self.other_client().hold(resource)
    }

    /// Returns another client, whose name, ttl and pools can be set before it locks.
    ///
    /// # Example: one node that does not grant; the attempt wins by the other two
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

/// What calls did.
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

    /// Returns the acquisitions of `resource`, by itself or among others.
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
        acquisitions.retain(|acquisition| covers(&acquisition.resource, &resource));
        acquisitions
    }

    /// Expects that the code under test locked `resource`, once at least, by itself or among others.
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
    /// If no call locked it.
    #[track_caller]
    pub fn assert_locked(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = self.any(&resource, Acquisition::was_locked);
        self.expect(is_so, format_args!("`{resource}` was not locked"));
    }

    /// Expects that every call for `resource` was refused, or that there was none.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.assert_not_locked("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// If a call locked it.
    #[track_caller]
    pub fn assert_not_locked(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = !self.any(&resource, Acquisition::was_locked);
        self.expect(is_so, format_args!("`{resource}` was locked"));
    }

    /// Expects that the code under test holds `resource` now.
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
    /// If no call holds it.
    #[track_caller]
    pub fn assert_held(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = self.any(&resource, Acquisition::is_held);
        self.expect(is_so, format_args!("`{resource}` is not held"));
    }

    /// Expects that all nodes are free of the keys of `resource`: the next caller gets the lock.
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
    /// If a node has a key of it.
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

    /// Expects that all nodes are free of the keys of all locks. Use it at the end of a test, to see that nothing
    /// leaked. A node that hangs has the keys that it had when it began to hang.
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
    /// If a node has a key of a lock.
    #[track_caller]
    pub fn assert_all_free(&self) {
        let held = self.shared.nodes.show_locks(|_| true);
        self.expect(held.is_empty(), format_args!("not all is free: {held}"));
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

    /// Waits until a call waits for `resource`: it has asked for it, and its answer is still to come.
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

    /// Waits until the acquisitions of `resource` are as `is_so` wants them. Panics at the limit.
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
                    // A paused clock gets here at once, while other tasks may still have work to
                    // do.
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

    /// Panics unless `is_so`, and shows the acquisitions of all calls.
    #[track_caller]
    fn expect(&self, is_so: bool, otherwise: impl fmt::Display) {
        assert!(is_so, "{otherwise}; {}", self.show_acquisitions());
    }

    /// Shows the acquisitions of all calls, one a line, for the text of a panic.
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

/// True if all names of `part` are in `whole`.
fn covers(whole: &Resource, part: &Resource) -> bool {
    let mut names = part.names();
    names.len() > 0 && names.all(|name| whole.names().any(|other| other == name))
}
