//! The registry: pools by name, defaults, and held leases.
//! [`Redlock::registry`](crate::Redlock::registry) returns it.

pub(crate) mod elections;
pub(crate) mod health;
pub(crate) mod held;
mod held_lease;
pub(crate) mod io;
pub(crate) mod journal;
pub(crate) mod pools;
pub(crate) mod scope;
pub(crate) mod shutdown;
mod shutdown_report;
pub(crate) mod signal;
mod site_report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redlock_core::env::Throttle;
use redlock_core::error::{Brief, Invalid};
use redlock_core::{Client, Environment, Settings};

use crate::error::{HttpSettings, RegistryContext};
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
use journal::Journal;
use pools::{Overriding, Pool, Pools};
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
    pub(crate) pools: Pools,
    pub(crate) defaults: LockOptions,
    pub(crate) context: Arc<RegistryContext>,
    pub(crate) held: Arc<HeldTable>,
    pub(crate) elections: Arc<Elections>,
    pub(crate) shutdown: Shutdown,
    /// Only a registry of the kit for users' tests has one.
    pub(crate) journal: Option<Arc<dyn Journal>>,
}

/// The parts from which a registry is made.
pub(crate) struct Parts {
    pub(crate) environment: Environment,
    pub(crate) client: Settings,
    pub(crate) pools: BTreeMap<String, Pool>,
    /// The pools of a lock that names none; `None` means all.
    pub(crate) default_pools: Option<Vec<String>>,
    pub(crate) defaults: LockOptions,
    pub(crate) overriding: Vec<(&'static Site, Overriding)>,
    pub(crate) max_ttl: Duration,
    pub(crate) http: HttpSettings,
    pub(crate) shutdown_grace: Duration,
    pub(crate) shutdown_deadline: Duration,
}

impl Registry {
    pub(crate) fn new(parts: Parts) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let environment = parts.environment;
        let context = RegistryContext {
            registry: NEXT.fetch_add(1, Ordering::Relaxed),
            max_ttl: parts.max_ttl,
            http: parts.http,
            throttle: Throttle::new(Arc::clone(&environment.clock)),
        };
        let shared = RegistryShared {
            client: Client::with_settings(environment.clone(), parts.client),
            environment,
            pools: Pools::new(
                parts.pools,
                parts.default_pools.as_deref(),
                parts.overriding,
            ),
            defaults: parts.defaults,
            context: Arc::new(context),
            held: Arc::default(),
            elections: Arc::default(),
            shutdown: Shutdown::new(parts.shutdown_grace, parts.shutdown_deadline),
            journal: None,
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
        let now = self.shared.environment.clock.now();
        self.shared.elections.list(now)
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
        self.shared.pools.by_name.get(pool)?.memory.as_ref()
    }

    /// Ends the leases without a majority, each time that a node may have forgotten locks.
    pub(crate) fn recheck_at_new_epochs(&self) {
        for pool in self.shared.pools.by_name.values() {
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
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("votes", &self.votes())
            .finish_non_exhaustive()
    }
}

/// Checks a ttl against `max_ttl`.
pub(crate) fn check_ttl(ttl: Duration, max_ttl: Duration) -> Result<(), Invalid> {
    if ttl <= max_ttl {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "the ttl of {} is above `max_ttl`, {}; lower it, or raise `max_ttl` in the configuration",
        Brief(ttl),
        Brief(max_ttl),
    )))
}
