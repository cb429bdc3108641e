//! The state of a registry's pools and of the annotated functions, for operators.

use redlock_core::node::NodeStatus;
use redlock_core::quorum::majority;

use crate::health::{PoolHealth, VotingPools};

use super::Registry;
use super::held::HeldEntry;
use super::pools::names_of;
use super::site_report::SiteReport;
use crate::site::{Site, sites};

impl Registry {
    /// Each pool in the order of its name.
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
        let defaults = names_of(&self.shared.pools.default_set);
        let not_resting = self.shared.held.not_resting();
        let pools = self.shared.pools.by_name.iter();
        pools
            .map(|(pool, it)| PoolHealth {
                pool: pool.clone(),
                status: it.node.status(),
                is_default: defaults.contains(pool),
                epoch: it.node.epoch(),
                not_resting: not_resting.get(pool).copied().unwrap_or(0),
                node_health: it.node.health(),
            })
            .collect()
    }

    /// Has the figures of the nodes told to `metrics` for as long as the registry lives.
    #[cfg(feature = "metrics")]
    pub(crate) fn sample_nodes(&self) {
        // A weak reference: reading the figures must not keep the nodes alive.
        let shared = std::sync::Arc::downgrade(&self.shared);
        crate::telemetry::metrics::sample_nodes(&self.shared.environment, move || {
            let shared = shared.upgrade()?;
            Some(Self { shared }.health())
        });
    }

    /// How many of the default pools vote.
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

    /// Whether calls can be expected to get their locks: a majority of the default pools votes, and
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

    /// The number of callers that wait in a line behind another caller of this process.
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

    /// `host/pid`: the holder's name in the refusals of other processes.
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

    /// All functions under `#[redlock]` that are linked into this program, in the order of their
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
        let reports = sites().into_iter();
        let reports = reports.map(|site| SiteReport::new(&self.shared, site, held_by(&held, site)));
        reports.collect()
    }
}

/// The number of leases in `held` that calls of `site` hold.
fn held_by(held: &[HeldEntry], site: &'static Site) -> usize {
    let of_site = held.iter().filter(|entry| std::ptr::eq(entry.site, site));
    of_site.count()
}
