//! The registry of a process: its pools, its defaults and its held leases.
//!
//! [`Redlock::registry`](crate::Redlock::registry) returns the registry.

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

/// The pools, the defaults and the held leases that calls use. Clones share one registry.
///
/// A call uses the first registry that it finds: that of its task ([`scope`](Self::scope)), that of its thread
/// ([`enter`](Self::enter)), or that of [`init`](crate::init()). With the feature `testing`, a test's registry that is
/// attached to the tokio runtime comes before the one of `init`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let registry = redlock.registry();
/// println!("{} held, {:?}", registry.held_count(), registry.votes());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Registry {
    pub(crate) shared: Arc<RegistryShared>,
}

impl Registry {
    /// Returns the leases that are held right now, in the order of their acquisition.
    pub fn held(&self) -> Vec<HeldLease> {
        let entries = self.shared.held.entries();
        entries.iter().map(HeldEntry::describe).collect()
    }

    /// Returns the elections in which this process stands, in the order in which it entered them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
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
    pub fn held_count(&self) -> usize {
        self.shared.held.count()
    }

    /// Returns the in-process node of a `memory://` pool. Returns `None` for any other pool.
    ///
    /// Tests read the node's keys. With the feature `testing` they can also make the node fail.
    pub fn memory_node(&self, pool: &str) -> Option<&MemoryNode> {
        self.shared.pools.by_name.get(pool)?.memory.as_ref()
    }

    /// Returns the health of each pool, in the order of their names.
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

    /// Reports the figures of the nodes to `metrics` while the registry exists.
    #[cfg(feature = "metrics")]
    pub(crate) fn sample_nodes(&self) {
        // Hold a weak reference, so that the sampling does not keep the nodes alive.
        let shared = Arc::downgrade(&self.shared);
        crate::telemetry::metrics::sample_nodes(&self.shared.environment, move || {
            let shared = shared.upgrade()?;
            Some(Self { shared }.health())
        });
    }

    /// Returns how many of the default pools vote, and how many a lock needs.
    pub fn votes(&self) -> VotingPools {
        let nodes = &self.shared.pools.default_set;
        let is_voting = |status| matches!(status, NodeStatus::Voting);
        VotingPools {
            voting: nodes.iter().filter(|node| is_voting(node.status())).count(),
            needed: majority(nodes.len()),
            configured: nodes.len(),
        }
    }

    /// True if a majority of the default pools votes and no shutdown has begun. Calls can then expect to get their
    /// locks. [`Redlock::ready`](crate::Redlock::ready) waits for this state.
    pub fn is_ready(&self) -> bool {
        self.votes().suffice() && !self.is_closing()
    }

    /// True if a shutdown has begun. From then on, only code below a held lease gets locks.
    pub fn is_closing(&self) -> bool {
        self.shared.held.closed.initialized()
    }

    /// Returns the number of callers that wait in line until another caller of this process is done.
    pub fn waiting(&self) -> usize {
        self.shared.client.waiting()
    }

    /// Returns this process's name, `host/pid`, as refused callers in other processes see it.
    pub fn owner(&self) -> &str {
        self.shared.client.owner()
    }

    /// Returns all functions with `#[redlock]` that are linked into this program, in the order of their source. Each
    /// comes with the parameters that it uses in this registry.
    pub fn sites(&self) -> Vec<SiteReport> {
        let held = self.shared.held.entries();
        let report = |site: &'static Site| {
            let of_site = held.iter().filter(|entry| entry.site == site);
            SiteReport::new(&self.shared, site, of_site.count())
        };
        sites().into_iter().map(report).collect()
    }

    /// Runs `future` so that every call in it uses this registry, on any thread. Tasks that the future spawns are not
    /// included.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?;
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

    /// Makes every call on this thread use this registry, until the guard is dropped.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?;
    /// let entered = redlock.registry().enter();
    /// redlock_runtime::lock("order:42").run(async {}).await?;
    /// drop(entered);
    /// let error = redlock_runtime::lock("order:42").acquire().await.unwrap_err();
    /// assert!(error.is_not_initialized());
    /// # Ok(()) }
    /// ```
    pub fn enter(&self) -> Entered {
        Entered::new(self.clone())
    }
}

debug_in_part!(Registry, it => votes: it.votes());
