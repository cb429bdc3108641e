//! From a configuration to a running registry.

mod check_permissions;
mod check_sites;
mod overrides;
mod ready;
mod shutdown;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use redlock_core::node::{NodeErrorKind, NodeStatus};
use redlock_core::quorum::majority;
use redlock_core::redis::RedisOptions;
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_core::{MemoryNode, Node, RedisNode};

use crate::config::{Config, PoolAddress, same_node};
use crate::error::InitError;
use crate::registry::io::io;
use crate::registry::pools::Pool;
use crate::registry::{Registry, scope, signal};
use crate::site::{Site, sites};
#[cfg(feature = "metrics")]
use crate::telemetry;
use check_permissions::check_permissions;
use check_sites::{check_overridden, check_sites};
pub(crate) use overrides::overriding;
use overrides::{Overridden, resolve};

/// The running registry. Keep it in `main`: dropping it shuts down.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use redlock_runtime::Config;
/// let redlock = redlock_runtime::init(Config::new().pool("a", "memory://a")).await?;
/// assert!(redlock.registry().is_ready());
/// redlock.shutdown().await;
/// # Ok(()) }
/// ```
#[must_use = "dropping it shuts down, and `let _ =` drops it at once; bind it to a name until the end of \
              `main`"]
pub struct Redlock {
    pub(crate) registry: Registry,
}

/// Starts the global registry: connects to the pools and checks every annotated function of the
/// program against the configuration.
///
/// A node is no error here if it cannot be reached, or if it has to wait because it may have
/// forgotten locks: it votes no until it may vote. Returns when it is known of each node whether it
/// votes: within the configured `connect_timeout`, or within a few seconds if other processes are
/// opening a new set of nodes.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use redlock_runtime::Config;
/// let redlock = redlock_runtime::init(Config::new().pool("a", "memory://a")).await?;
/// redlock_runtime::lock("order:42").run(async {}).await?;
/// redlock.shutdown().await;
/// # Ok(()) }
/// ```
///
/// The connections to the nodes live on the present runtime. While something blocks all threads of that runtime, the
/// nodes do not vote for this process.
///
/// # Errors
/// [`InitError`] with every problem: no pools, a URL that makes no sense, two pools that are one
/// node, a server that a lock cannot rely on (see [`Config::vetting`]), default values outside the limits,
/// a function that names a pool which is not configured, or a ttl above `max_ttl`, an override
/// that fits no function or several, default pools that refuse the login or the database if the others are no majority,
/// a function with a `mode` whose pools do not allow it, and a registry that is running already.
///
/// # Cancellation
/// Dropping the future starts nothing.
pub async fn init(config: Config) -> Result<Redlock, InitError> {
    const RUNNING: &str = "a registry is running already; call `init` once, or use \
                           `Redlock::start` and `Registry::scope` for one of its own";
    let plan = Plan::checked_with_sites(&config)?;
    let registry = Registry::start(config, plan).await?;
    // A `Redlock` is made only for the registry that became the global one: its drop logs a shutdown.
    if !scope::set_global(registry.clone()) {
        return Err(InitError::one(RUNNING));
    }
    Ok(Redlock { registry })
}

impl Redlock {
    /// Starts a registry that is not the global one. Calls find it through [`Registry::scope`] or
    /// [`Registry::enter`]. Of the program's annotated functions only those with an
    /// [override](Config::site) are checked against it. A function that names an unknown pool
    /// reports that when it is called.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// let locked = redlock_runtime::lock("order:42").run(async {});
    /// redlock.registry().clone().scope(locked).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`InitError`], as [`init`], but for what concerns functions that are not overridden.
    ///
    /// # Cancellation
    /// Dropping the future starts nothing.
    pub async fn start(config: Config) -> Result<Self, InitError> {
        let plan = Plan::checked(&config)?;
        let registry = Registry::start(config, plan).await?;
        Ok(Self { registry })
    }

    /// The registry, to look at or to scope calls to.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// assert_eq!(redlock.registry().held_count(), 0);
    /// # Ok(()) }
    /// ```
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Registry {
    /// Connects to the pools of a checked configuration.
    async fn start(config: Config, plan: Plan) -> Result<Self, InitError> {
        let io =
            io().map_err(|error| InitError::one(format!("the I/O thread cannot start: {error}")))?;
        let environment = io.environment();

        let mut options = RedisOptions::default();
        options.connect_timeout = config.connect_timeout;
        // A node that is merely slow, by the operator's own measure, is not suspect.
        options.suspect_after = options.suspect_after.max(config.node_timeout * 4);
        options.dead_after = options.dead_after.max(options.suspect_after * 4);

        let is_remote = |address: &&PoolAddress| matches!(address, PoolAddress::Redis(_));
        let servers: Vec<_> = plan.addresses.values().filter(is_remote).collect();
        let default = RestartCheck::default_for(servers.len());
        let restart_check = config.restart_check.unwrap_or(default);
        // A Redis Cluster has no restart check.
        let checked = servers.iter().filter(|address| !address.is_cluster());
        let clusters = plan
            .addresses
            .iter()
            .filter(|(_, address)| address.is_cluster());
        for (pool, _) in clusters.filter(|_| restart_check != RestartCheck::Off) {
            tracing::warn!(
                %pool,
                "a Redis Cluster has no restart check: after a failover it may grant a lock that it has forgotten",
            );
        }
        // A node that is not checked does not count when it is decided whether the set is new.
        let prefix = config.key_prefix.as_bytes();
        let set = CheckedSet::new(restart_check, config.max_ttl, checked.count(), prefix);
        options.checked_set = Some(Arc::new(set));
        if !servers.is_empty() && servers.len().is_multiple_of(2) {
            tracing::warn!(
                pools = servers.len(),
                "an even number of pools survives no more failures than one less; use an odd one",
            );
        }

        let mut pools = BTreeMap::new();
        let mut remote = Vec::new();
        for (name, address) in plan.addresses {
            let (node, memory): (Arc<dyn Node>, _) = match address {
                PoolAddress::Memory(_) => {
                    tracing::warn!(
                        pool = name,
                        "this pool is in the process's memory: it excludes no other process",
                    );
                    let node = MemoryNode::new(name.as_str(), Arc::clone(&environment.clock));
                    (Arc::new(node.clone()), Some(node))
                }
                PoolAddress::Redis(address) => {
                    let pool = &config.pools[&name];
                    options.vetting = pool.vetting.unwrap_or_default();
                    options.trust_aof = pool.trust_aof.unwrap_or(false);
                    #[cfg(feature = "metrics")]
                    {
                        let pool = name.as_str().into();
                        options.answers = Some(Arc::new(telemetry::metrics::Answers { pool }));
                    }
                    let node = RedisNode::start(name.as_str(), address, options.clone(), io);
                    let node = Arc::new(node);
                    remote.push(Arc::clone(&node));
                    (node, None)
                }
            };
            pools.insert(name, Pool { node, memory });
        }
        let mut refused = Vec::new();
        for node in &remote {
            node.wait_until_settled().await;
            if let NodeStatus::Abstaining(reason) = node.status()
                && reason.kind() == NodeErrorKind::Refused
            {
                refused.push(reason.to_string());
            }
        }
        for (index, one) in remote.iter().enumerate() {
            for other in &remote[..index] {
                if one.is_same_cluster(other) {
                    refused.push(same_node(other.name(), one.name(), one.address()));
                }
            }
        }
        refused.extend(check_permissions(
            &config,
            &plan.sites,
            &plan.overridden,
            &pools,
        ));
        none_of(refused)?;
        let registry = Registry::new(&config, environment, pools, &overriding(&plan.overridden));
        registry.check_logins()?;
        if !registry.votes().suffice() {
            let reason = ready::votes_of(&registry);
            tracing::warn!(%reason, "calls fail until a majority of the pools votes");
        }
        registry.shared.recheck_at_new_epochs();
        #[cfg(feature = "metrics")]
        registry.sample_nodes();
        if config.release_on_exit {
            signal::release_on_exit(&registry);
        }
        Ok(registry)
    }

    /// Refuses the start if the default pools are no majority without those that refuse the login or the database, or
    /// have a certificate that is not trusted: no lock could ever be acquired. For a minority the log has a warning.
    fn check_logins(&self) -> Result<(), InitError> {
        let nodes = &self.shared.pools.default_set;
        let denied: Vec<_> = nodes
            .iter()
            .filter_map(|node| match node.status() {
                NodeStatus::Abstaining(reason) if reason.kind() == NodeErrorKind::Denied => {
                    Some(format!("{}: {reason}", node.name()))
                }
                _ => None,
            })
            .collect();
        let needed = majority(nodes.len());
        if nodes.len() - denied.len() >= needed {
            return Ok(());
        }
        Err(InitError::one(format!(
            "{} of {} default pools cannot be used as they are configured, and {needed} have to grant a lock: {}; mend \
             the URLs (a password without a user: redis://:password@host), the servers' ACLs or databases, or the \
             certificates (`tls_ca` names who issued them)",
            denied.len(),
            nodes.len(),
            denied.join("; "),
        )))
    }
}

impl fmt::Debug for Redlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Redlock").field(&self.registry).finish()
    }
}

/// A checked configuration, before anything is started.
pub(crate) struct Plan {
    pub(crate) addresses: BTreeMap<String, PoolAddress>,
    pub(crate) overridden: Vec<Overridden>,
    /// The functions that are checked against the servers.
    pub(crate) sites: Vec<&'static Site>,
}

impl Plan {
    /// Checks the configuration, without the functions that it does not override.
    pub(crate) fn checked(config: &Config) -> Result<Self, InitError> {
        let mut problems = Vec::new();
        let plan = Self::of(config, &mut problems);
        none_of(problems).map(|()| plan)
    }

    /// Checks the configuration with all functions of the program.
    pub(crate) fn checked_with_sites(config: &Config) -> Result<Self, InitError> {
        let mut problems = Vec::new();
        let mut plan = Self::of(config, &mut problems);
        plan.sites = sites();
        check_sites(config, &plan.overridden, &mut problems);
        none_of(problems).map(|()| plan)
    }

    fn of(config: &Config, problems: &mut Vec<String>) -> Self {
        let addresses = config.check(problems);
        let overridden = resolve(config, problems);
        check_overridden(config, &overridden, problems);
        let sites = overridden.iter().map(|it| it.site).collect();
        Self {
            addresses,
            overridden,
            sites,
        }
    }
}

fn none_of(problems: Vec<String>) -> Result<(), InitError> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(InitError { problems })
    }
}
