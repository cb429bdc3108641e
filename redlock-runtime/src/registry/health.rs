//! The state of a registry's pools and of the annotated functions, for operators.

use redlock_core::node::NodeStatus;
use redlock_core::quorum::majority;

use crate::health::{PoolHealth, VotingPools};
use crate::parameters::{LockOptions, SiteParameters};

use super::Registry;
use super::held::HeldEntry;
use super::pools::names_of;
use crate::site::{Site, sites};

/// An annotated function, as a registry runs it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// for report in redlock.registry().sites() {
///     println!("{} on {}", report.site.site_name(), report.pools.join(", "));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SiteReport {
    /// The function, and what its attribute says.
    pub site: &'static Site,
    /// The pools that it locks on.
    pub pools: Vec<String>,
    /// The parameters with which it locks.
    pub parameters: SiteParameters,
    /// The parameters that the configuration overrides for this function, `pools` included.
    pub overridden: Vec<&'static str>,
    /// The parameters that are expressions in the attribute. Each call has its own values, and the
    /// values in `parameters` have no effect.
    pub at_call: Vec<&'static str>,
    /// The number of leases that calls of this function hold now.
    pub held: usize,
}

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
        let defaults = names_of(&self.shared.default_set);
        let not_resting = self.shared.held.not_resting();
        let pools = self.shared.pools.iter();
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
        let nodes = &self.shared.default_set;
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
        self.shared.held.is_closed()
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
        let reports = reports.map(|site| self.report(site, held_by(&held, site)));
        reports.collect()
    }

    /// The parameters that a call of `site` would have. The layers are combined as for a call.
    fn report(&self, site: &'static Site, held: usize) -> SiteReport {
        let over = self.shared.overrides.of(site);
        let overriding = over.map_or(LockOptions::NONE, |over| over.options);
        let own = overriding.above(site.own_options());
        let nodes = over.and_then(|over| over.nodes.as_ref());
        let pools = match (nodes, site.pool_names()) {
            (Some(nodes), _) => names_of(nodes),
            (None, Some(names)) => names.iter().map(|&name| name.to_owned()).collect(),
            (None, None) => names_of(&self.shared.default_set),
        };
        let mut overridden = overriding.names();
        // An override is above what the call says.
        let is_at_call = |name: &&str| {
            let mut answers = LockOptions::answers(name);
            !answers.any(|name| overridden.contains(&name))
        };
        let at_call = site.names_at_call().iter().copied().filter(is_at_call);
        let at_call = at_call.collect();
        if nodes.is_some() {
            overridden.push("pools");
        }
        SiteReport {
            site,
            pools,
            parameters: own.above(self.shared.defaults).decided(site.skips),
            overridden,
            at_call,
            held,
        }
    }
}

/// The number of leases in `held` that calls of `site` hold.
fn held_by(held: &[HeldEntry], site: &'static Site) -> usize {
    let of_site = held.iter().filter(|entry| std::ptr::eq(entry.site, site));
    of_site.count()
}
