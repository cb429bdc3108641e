//! The registry: pools by name, defaults, and held leases.
//! [`Redlock::registry`](crate::Redlock::registry) returns it.

pub(crate) mod elections;
pub(crate) mod health;
pub(crate) mod held;
mod held_lease;
pub(crate) mod io;
pub(crate) mod limits;
pub(crate) mod overrides;
pub(crate) mod pools;
pub(crate) mod record;
pub(crate) mod scope;
pub(crate) mod shutdown;
pub(crate) mod shutdown_report;
pub(crate) mod signal;
mod site_report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redlock_core::env::Throttle;
use redlock_core::{Client, Environment, NodeSet, Resource, Settings};

use crate::error::{HolderHere, HttpSettings};
use crate::parameters::LockOptions;
pub use redlock_core::MemoryNode;

pub use crate::site::{Site, sites};
pub use elections::Candidacy;
pub use held_lease::HeldLease;
pub use scope::Entered;
pub use shutdown_report::ShutdownReport;
pub use site_report::{Layer, Parameter, SiteReport};

use elections::Elections;
use held::{HeldEntry, HeldTable};
use limits::RegistryLimits;
use overrides::{Overrides, Overriding};
use pools::{Pool, set_of};
use record::Recorder;
use shutdown::Shutdown;

/// Where calls find their pools. Clones are the same registry.
///
/// An annotated call looks for one in its task ([`scope`](Self::scope)), then in its thread
/// ([`enter`](Self::enter)), then takes the registry that [`init`](crate::init()) made. In tests with
/// the feature `testing`, a registry that is attached to the runtime comes before that.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// let registry = redlock.registry();
/// println!("{} held, {:?}", registry.held_count(), registry.votes());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Registry {
    pub(crate) shared: Arc<RegistryShared>,
}

pub(crate) struct RegistryShared {
    pub(crate) environment: Environment,
    pub(crate) client: Client,
    pub(crate) pools: BTreeMap<String, Pool>,
    /// The sets of nodes that sites name, made once so that a call does not have to make one.
    pub(crate) known_sets: Vec<(Vec<String>, NodeSet)>,
    pub(crate) default_set: NodeSet,
    pub(crate) defaults: LockOptions,
    pub(crate) overrides: Overrides,
    pub(crate) limits: Arc<RegistryLimits>,
    pub(crate) held: Arc<HeldTable>,
    pub(crate) elections: Arc<Elections>,
    pub(crate) shutdown: Shutdown,
    pub(crate) recorder: Recorder,
}

/// The parts from which a registry is made.
pub(crate) struct Parts {
    pub(crate) environment: Environment,
    pub(crate) client: Settings,
    pub(crate) pools: BTreeMap<String, Pool>,
    /// The pools of a lock that names none; `None` means all.
    pub(crate) default_pools: Option<Vec<String>>,
    pub(crate) defaults: LockOptions,
    pub(crate) overriding: Vec<Overriding>,
    pub(crate) max_ttl: Duration,
    pub(crate) http: HttpSettings,
    pub(crate) shutdown_grace: Duration,
    pub(crate) shutdown_deadline: Duration,
}

impl Registry {
    pub(crate) fn new(parts: Parts) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (environment, pools) = (parts.environment, parts.pools);
        let client = Client::with_settings(environment.clone(), parts.client);
        let all = || pools.keys().cloned().collect();
        let names: Vec<String> = parts.default_pools.unwrap_or_else(all);
        let limits = RegistryLimits {
            registry: NEXT.fetch_add(1, Ordering::Relaxed),
            max_ttl: parts.max_ttl,
            http: parts.http,
            throttle: Arc::new(Throttle::new(Arc::clone(&environment.clock))),
        };
        let default_set = set_of(&pools, names.iter().map(String::as_str)).unwrap_or_default();
        let mut known_sets: Vec<(Vec<String>, NodeSet)> = Vec::new();
        for site in sites() {
            let Some(names) = site.pool_names() else {
                continue;
            };
            if known_sets.iter().any(|(known, _)| known == names) {
                continue;
            }
            // A site with an unknown pool has no set; its calls say so.
            if let Ok(set) = set_of(&pools, names.iter().copied()) {
                known_sets.push((names.iter().map(|&name| name.to_owned()).collect(), set));
            }
        }
        let nodes = |names: &[String]| {
            let known = known_sets.iter().find(|(known, _)| known == names);
            let own = || set_of(&pools, names.iter().map(String::as_str)).ok();
            known.map(|(_, set)| Arc::clone(set)).or_else(own)
        };
        let overrides = Overrides::new(parts.overriding, nodes);
        let shared = RegistryShared {
            environment,
            client,
            pools,
            known_sets,
            default_set,
            defaults: parts.defaults,
            overrides,
            limits: Arc::new(limits),
            held: Arc::default(),
            elections: Arc::default(),
            shutdown: Shutdown::new(parts.shutdown_grace, parts.shutdown_deadline),
            recorder: Recorder::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Everything that is held right now, in the order in which it was acquired.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// let held = redlock.registry().held();
    /// assert_eq!(held[0].resource.to_string(), "order:42");
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn held(&self) -> Vec<HeldLease> {
        self.shared
            .held
            .entries()
            .iter()
            .map(HeldEntry::describe)
            .collect()
    }

    /// The elections in which this process stands, in the order in which it entered them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let election = redlock_runtime::election("reindex");
    /// let led = election.run(async |_term| {
    ///     let elections = redlock.registry().elections();
    ///     assert!(elections[0].leading_for.is_some());
    ///     election.resign();
    /// });
    /// led.await?;
    /// assert!(redlock.registry().elections().is_empty());
    /// # Ok(()) }
    /// ```
    pub fn elections(&self) -> Vec<Candidacy> {
        self.shared.elections.list()
    }

    /// The holder of a lock, if it is in this process.
    pub(crate) fn holder_of(&self, resource: &Resource, nodes: &NodeSet) -> Option<HolderHere> {
        self.shared.held.holder_of(resource, nodes)
    }

    /// How many leases are held.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// assert_eq!(redlock.registry().held_count(), 1);
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn held_count(&self) -> usize {
        self.shared.held.count()
    }

    /// The in-process node of a `memory://` pool, for tests that read it or cut it off.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let node = redlock.registry().memory_node("a").expect("`a` is a `memory://` pool");
    /// node.cut();
    /// assert!(!redlock.registry().is_ready());
    /// # Ok(()) }
    /// ```
    pub fn memory_node(&self, pool: &str) -> Option<&MemoryNode> {
        self.shared.pools.get(pool)?.memory.as_ref()
    }

    /// Ends the leases without a majority, each time that a node may have forgotten locks.
    pub(crate) fn recheck_at_new_epochs(&self) {
        for pool in self.shared.pools.values() {
            // A weak reference: a node must not keep the table alive.
            let held = Arc::downgrade(&self.shared.held);
            pool.node.on_new_epoch(Arc::new(move || {
                let entries = held.upgrade().map(|held| held.entries());
                for entry in entries.into_iter().flatten() {
                    entry.lease.recheck();
                }
            }));
        }
    }

    pub(crate) fn nodes(&self) -> NodeSet {
        self.shared
            .pools
            .values()
            .map(|pool| Arc::clone(&pool.node))
            .collect()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("votes", &self.votes())
            .finish_non_exhaustive()
    }
}
