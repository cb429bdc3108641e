//! The registry: pools by name, defaults, and held leases.
//! [`Redlock::registry`](crate::Redlock::registry) returns it.

pub(crate) mod elections;
pub(crate) mod held;
mod held_lease;
pub(crate) mod io_thread;
pub(crate) mod pools;
pub(crate) mod scope;
mod shared;
pub(crate) mod shutdown;
mod shutdown_report;
pub(crate) mod signal;
mod site_report;

use std::sync::Arc;

use redlock_core::internal::debug_in_part;
use redlock_core::node::NodeStatus;
use redlock_core::quorum::majority;

use crate::health::{PoolHealth, VotingPools};
pub use redlock_core::MemoryNode;

pub use crate::site::{Site, sites};
pub use elections::Candidacy;
pub use held_lease::HeldLease;
pub use scope::Entered;
pub(crate) use shared::RegistryShared;
pub use shutdown_report::ShutdownReport;
pub use site_report::{Layer, ParameterReport, SiteReport};

use held::HeldEntry;
use pools::pool_names_of;

/// The pools, defaults and held leases of calls. Clones are the same registry.
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

impl Registry {
    /// Returns the leases that are held right now, in the order in which it was acquired.
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
        let entries = self.shared.held.entries();
        entries.iter().map(HeldEntry::describe).collect()
    }

    /// Returns the elections in which this process stands, in the order in which it entered them.
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

    /// Returns the number of held leases.
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

    /// Returns the in-process node of a `memory://` pool, for tests that read it. With the feature `testing` they also
    /// break it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let node = redlock.registry().memory_node("a").expect("`a` is a `memory://` pool");
    /// assert!(node.keys().is_empty());
    /// # Ok(()) }
    /// ```
    pub fn memory_node(&self, pool: &str) -> Option<&MemoryNode> {
        self.shared.pools.by_name.get(pool)?.memory.as_ref()
    }

    /// Returns the health of each pool, in the order of their names.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// for pool in redlock.registry().health() {
    ///     println!("{}: {:?}", pool.pool, pool.status);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn health(&self) -> Vec<PoolHealth> {
        let defaults = pool_names_of(&self.shared.pools.default_set);
        let leases_without_grant = self.shared.held.leases_without_grant();
        let pools = self.shared.pools.by_name.iter();
        pools
            .map(|(pool, it)| PoolHealth {
                pool: pool.clone(),
                status: it.node.status(),
                is_default: defaults.contains(pool),
                epoch: it.node.epoch(),
                leases_without_grant: leases_without_grant.get(pool).copied().unwrap_or(0),
                node_health: it.node.health(),
            })
            .collect()
    }

    /// Reports the figures of the nodes to `metrics` for as long as the registry lives.
    #[cfg(feature = "metrics")]
    pub(crate) fn sample_nodes(&self) {
        // A weak reference: reading the figures must not keep the nodes alive.
        let shared = Arc::downgrade(&self.shared);
        crate::telemetry::metrics::sample_nodes(&self.shared.environment, move || {
            let shared = shared.upgrade()?;
            Some(Self { shared }.health())
        });
    }

    /// Returns the number of default pools that vote, and how many are needed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let votes = redlock.registry().votes();
    /// assert_eq!((votes.voting, votes.needed, votes.configured), (1, 1, 1));
    /// # Ok(()) }
    /// ```
    pub fn votes(&self) -> VotingPools {
        let nodes = &self.shared.pools.default_set;
        let is_voting = |status| matches!(status, NodeStatus::Voting);
        VotingPools {
            voting: nodes.iter().filter(|node| is_voting(node.status())).count(),
            needed: majority(nodes.len()),
            configured: nodes.len(),
        }
    }

    /// True if calls can be expected to get their locks: a majority of the default pools votes, and
    /// no shutdown has begun. [`Redlock::ready`](crate::Redlock::ready) waits for it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// assert!(redlock.registry().is_ready());
    /// # Ok(()) }
    /// ```
    pub fn is_ready(&self) -> bool {
        self.votes().suffice() && !self.is_closing()
    }

    /// True if a shutdown has begun: only code below a held lease still gets locks.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let registry = redlock.registry().clone();
    /// redlock.shutdown().await;
    /// assert!(registry.is_closing());
    /// # Ok(()) }
    /// ```
    pub fn is_closing(&self) -> bool {
        self.shared.held.closed.initialized()
    }

    /// Returns the number of callers that wait in a line for another caller of this process.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// assert_eq!(redlock.registry().waiting(), 0);
    /// # Ok(()) }
    /// ```
    pub fn waiting(&self) -> usize {
        self.shared.client.waiting()
    }

    /// Returns `host/pid`, the holder's name in the refusals of other processes.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// println!("other processes see {}", redlock.registry().owner());
    /// # Ok(()) }
    /// ```
    pub fn owner(&self) -> &str {
        self.shared.client.owner()
    }

    /// Returns all functions under `#[redlock]` that are linked into this program, in the order of their
    /// source, with what they lock in this registry.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// for report in redlock.registry().sites() {
    ///     println!("{}: {} held, {:?}", report.site, report.held, report.parameters);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn sites(&self) -> Vec<SiteReport> {
        let held = self.shared.held.entries();
        let report = |site: &'static Site| {
            let of_site = held.iter().filter(|entry| entry.site == site);
            SiteReport::new(&self.shared, site, of_site.count())
        };
        sites().into_iter().map(report).collect()
    }

    /// Runs `future` with this registry for every call that it makes, on any thread.
    /// A spawned task is not part of it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// let locked = redlock_runtime::lock("order:42").run(async {});
    /// redlock.registry().clone().scope(locked).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future drops `future`.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        scope::TASK.scope(self, future).await
    }

    /// Uses this registry for every call that this thread makes, until the guard is dropped.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// let _entered = redlock.registry().enter();
    /// redlock_runtime::lock("order:42").run(async {}).await?;
    /// # Ok(()) }
    /// ```
    pub fn enter(&self) -> Entered {
        Entered::new(self.clone())
    }
}

debug_in_part!(Registry, it => votes: it.votes());
