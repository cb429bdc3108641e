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
    /// Returns the leases that are held right now, in the order in which it was acquired.
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

    /// Returns the in-process node of a `memory://` pool, for tests that read it. With the feature `testing` they also
    /// break it.
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
    pub fn is_ready(&self) -> bool {
        self.votes().suffice() && !self.is_closing()
    }

    /// True if a shutdown has begun: only code below a held lease still gets locks.
    pub fn is_closing(&self) -> bool {
        self.shared.held.closed.initialized()
    }

    /// Returns the number of callers that wait in a line for another caller of this process.
    pub fn waiting(&self) -> usize {
        self.shared.client.waiting()
    }

    /// Returns `host/pid`, the holder's name in the refusals of other processes.
    pub fn owner(&self) -> &str {
        self.shared.client.owner()
    }

    /// Returns all functions under `#[redlock]` that are linked into this program, in the order of their
    /// source, with what they lock in this registry.
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
