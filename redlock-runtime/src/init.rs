//! From a configuration to a running registry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use once_cell::sync::OnceCell;
use redlock_core::guard::{Fleet, RestartGuard};
use redlock_core::{
    Brief, IoThread, MemoryNode, Node, NodeErrorKind, NodeStatus, RedisNode, RedisOptions,
};

use crate::cluster;
use crate::config::{Config, PoolAddress, no_pools};
use crate::lease::check_max_ttl;
use crate::registry::{Pool, Registry};
use crate::scope;
use crate::shutdown::{CONFIRMING, ShutdownReport};
use crate::site::{Site, sites};

/// No timeout is longer: sums of such never overflow.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The library's I/O thread, one for the process.
static IO: OnceCell<IoThread> = OnceCell::new();

/// Why [`init`] refused to start: every problem that was found, each with its fix.
#[derive(Clone)]
pub struct InitError {
    problems: Vec<String>,
}

impl InitError {
    fn one(problem: impl Into<String>) -> Self {
        Self {
            problems: vec![problem.into()],
        }
    }

    /// The problems, one text each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("redlock cannot start: ")?;
        f.write_str(&self.problems.join("; "))
    }
}

/// The text too: it is what a `main` that returns the error prints.
impl fmt::Debug for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for InitError {}

/// The running registry. Keep it in `main`: dropping it shuts down.
#[must_use = "dropping it shuts down; keep it until the end of `main`"]
pub struct Redlock {
    registry: Registry,
}

/// Starts the global registry: connects to the pools and checks every annotated function of the
/// program against the configuration.
///
/// A node that cannot be reached, or that has to wait because it may have forgotten locks, is no
/// error here: it votes no until it may. Returns once it is known of each node whether it votes:
/// within the configured `connect_timeout`, or a few seconds where other processes are just opening
/// a new set of nodes.
///
/// # Errors
/// [`InitError`] with every problem: no pools, a URL that makes no sense, two pools that are one
/// node, a server that a lock cannot rely on (see [`Config::vetting`]), default values outside the limits, a function that names a pool which is not configured
/// or a ttl above `max_ttl`; and where a registry is running already.
///
/// # Cancellation
/// Dropping the future starts nothing.
pub async fn init(config: Config) -> Result<Redlock, InitError> {
    check_sites(&config)?;
    let redlock = Redlock::start(config).await?;
    match scope::set_global(redlock.registry.clone()) {
        Ok(()) => Ok(redlock),
        Err(_) => Err(InitError::one(
            "a registry is running already; call `init` once, or use `Redlock::start` and \
             `Registry::scope` for one of its own",
        )),
    }
}

impl Redlock {
    /// Starts a registry that is not the global one: calls find it through [`Registry::scope`] or
    /// [`Registry::enter`]. The program's annotated functions are not checked against it; one that
    /// names an unknown pool says so when it is called.
    ///
    /// # Errors
    /// [`InitError`], as [`init`], but for what concerns functions.
    ///
    /// # Cancellation
    /// Dropping the future starts nothing.
    pub async fn start(config: Config) -> Result<Self, InitError> {
        let addresses = check(&config)?;
        let io = IO
            .get_or_try_init(IoThread::start)
            .map_err(|error| InitError::one(format!("the I/O thread cannot start: {error}")))?;
        let environment = io.environment();

        let mut options = RedisOptions::default();
        options.connect_timeout = config.connect_timeout;
        // A node that is merely slow, by the operator's own measure, is not suspect.
        options.suspect_after = options.suspect_after.max(config.node_timeout * 4);
        options.dead_after = options.dead_after.max(options.suspect_after * 4);

        let is_remote = |address: &&PoolAddress| matches!(address, PoolAddress::Redis(_));
        let servers = addresses.values().filter(is_remote).count();
        let guard = config
            .restart_guard
            .unwrap_or(RestartGuard::default_for(servers));
        let unguarded = cluster::warn_of_unguarded(&addresses, guard);
        // What is not guarded has no say in whether the set is new.
        let fleet = Fleet::new(guard, config.max_ttl, servers - unguarded);
        options.fleet = Some(Arc::new(
            fleet.with_key_prefix(config.key_prefix.as_bytes()),
        ));
        if servers > 0 && servers.is_multiple_of(2) {
            tracing::warn!(
                pools = servers,
                "an even number of pools survives no more failures than one less; use an odd one",
            );
        }

        let mut pools = BTreeMap::new();
        let mut remote = Vec::new();
        for (name, address) in addresses {
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
                    let settings = config.pool_settings.get(&name).copied();
                    let settings = settings.unwrap_or_default();
                    options.vetting = settings.vetting.unwrap_or_default();
                    options.trust_aof = settings.trust_aof.unwrap_or(false);
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
            node.settled().await;
            match node.status() {
                NodeStatus::Abstaining(reason) if reason.kind() == NodeErrorKind::Refused => {
                    refused.push(reason.to_string());
                }
                NodeStatus::Abstaining(reason) => tracing::warn!(
                    pool = node.name(), server = %node.address(), %reason,
                    "node does not vote yet",
                ),
                _ => {}
            }
        }
        for (index, one) in remote.iter().enumerate() {
            for other in &remote[..index] {
                if one.is_same_cluster(other) {
                    refused.push(cluster::same_node(
                        other.name(),
                        one.name(),
                        &one.address().server(),
                    ));
                }
            }
        }
        if !refused.is_empty() {
            return Err(InitError { problems: refused });
        }
        let registry = Registry::new(&config, environment, pools);
        registry.recheck_at_new_epochs();
        Ok(Self { registry })
    }

    /// The registry, to look at or to scope calls to.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Ends all locking in order: refuses new acquisitions, lets bodies finish for the configured
    /// grace period, cancels those that still run, releases everything that is held, and reports.
    ///
    /// A lock is never released under a body that still runs: one that does not yield keeps its
    /// key until the ttl, and is reported.
    ///
    /// # Cancellation
    /// The shutdown goes on in the background; dropping the future gives up the report only.
    pub async fn shutdown(self) -> ShutdownReport {
        self.registry.begin_shutdown();
        self.registry.shutdown_report().await
    }
}

/// Does what [`shutdown`](Redlock::shutdown) does. Waits for it outside of an async runtime only;
/// inside, it goes on in the background.
impl Drop for Redlock {
    fn drop(&mut self) {
        self.registry.begin_shutdown();
        if tokio::runtime::Handle::try_current().is_err() {
            self.registry.block_on_shutdown();
        }
    }
}

impl fmt::Debug for Redlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Redlock").field(&self.registry).finish()
    }
}

/// Everything about a configuration that needs no network.
fn check(config: &Config) -> Result<BTreeMap<String, PoolAddress>, InitError> {
    let mut problems = Vec::new();
    if config.pools.is_empty() {
        problems.push(no_pools());
    }
    let mut addresses = BTreeMap::new();
    let mut by_server: BTreeMap<String, &str> = BTreeMap::new();
    for (name, url) in &config.pools {
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        {
            problems.push(format!(
                "the pool name `{}` is not made of letters, digits, `-` and `_`",
                name.escape_debug(),
            ));
        }
        match url.address() {
            Ok(address) => {
                if let Some(other) = by_server.insert(address.server(), name) {
                    problems.push(cluster::same_node(other, name, &address.server()));
                }
                if address.is_cluster() {
                    problems.extend(cluster::problems(config, name));
                }
                addresses.insert(name.clone(), address);
            }
            Err(invalid) => problems.push(format!("pool `{name}`: {invalid}")),
        }
    }
    for name in config.pool_settings.keys() {
        if !config.pools.contains_key(name) {
            problems.push(format!(
                "`vetting` or `trust_aof` is set for the pool `{name}`, which is not configured"
            ));
        }
    }
    if let Some(defaults) = &config.default_pools {
        if defaults.is_empty() {
            problems.push("`default_pools` is empty; name at least one, or leave it out".into());
        }
        for (index, name) in defaults.iter().enumerate() {
            if !config.pools.contains_key(name) {
                problems.push(format!(
                    "`default_pools` names the pool `{name}`, which is not configured"
                ));
            }
            if defaults[..index].contains(name) {
                problems.push(format!("`default_pools` names the pool `{name}` twice"));
            }
        }
    }
    if config.key_prefix.len() > redlock_core::MAX_RESOURCE_BYTES {
        problems.push("`key_prefix` is longer than 1024 bytes".into());
    }
    if config.node_timeout.is_zero() {
        problems.push("`node_timeout` is zero, so no node could ever answer in time".into());
    }
    if config.connect_timeout.is_zero() {
        problems.push("`connect_timeout` is zero, so no node could ever be reached".into());
    }
    // Time for cancelled bodies to end, and then for the nodes to confirm.
    let least = config.shutdown_grace.saturating_add(CONFIRMING * 2);
    if config.shutdown_deadline < least {
        problems.push(format!(
            "`shutdown.deadline` of {} is not 400 ms or more behind the end of `shutdown.grace`, {}",
            Brief(config.shutdown_deadline),
            Brief(config.shutdown_grace),
        ));
    }
    for (name, duration) in [
        ("node_timeout", config.node_timeout),
        ("connect_timeout", config.connect_timeout),
        ("shutdown.grace", config.shutdown_grace),
        ("shutdown.deadline", config.shutdown_deadline),
    ] {
        if duration > LONGEST {
            problems.push(format!("`{name}` is above a day; that is no bound"));
        }
    }
    if !(400..=599).contains(&config.http.contended_status) {
        problems.push(format!(
            "`http.contended_status` is {}, which is no error status; 423, 409 and 429 are",
            config.http.contended_status,
        ));
    }
    if let Err(invalid) = check_values(config, None) {
        problems.push(format!("defaults: {invalid}"));
    }
    if problems.is_empty() {
        Ok(addresses)
    } else {
        Err(InitError { problems })
    }
}

/// The values that a lock of `site`, or one without a site, would have.
fn check_values(config: &Config, site: Option<&Site>) -> Result<(), redlock_core::Invalid> {
    let own = site.map_or(crate::parameters::Parameters::NONE, |site| site.parameters);
    let request = own.above(config.defaults).request("check".into())?;
    check_max_ttl(request.ttl, config.max_ttl)?;
    request.check()
}

/// Every annotated function of the program against the configuration.
fn check_sites(config: &Config) -> Result<(), InitError> {
    let mut problems = Vec::new();
    let configured: Vec<_> = config.pools.keys().map(String::as_str).collect();
    let sites = sites();
    for site in &sites {
        for name in site.pool_names().unwrap_or_default() {
            if !config.pools.contains_key(*name) {
                problems.push(format!(
                    "{site} names the pool `{name}`, which is not configured; configured: {}",
                    configured.join(", "),
                ));
            }
        }
        if !site.has_own_ttl
            && let Err(invalid) = check_values(config, Some(site))
        {
            problems.push(format!("{site}: {invalid}"));
        }
    }
    warn_of_split_templates(config, &sites);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(InitError { problems })
    }
}

/// Two functions that lock the same template on different pools do not exclude each other.
fn warn_of_split_templates(config: &Config, sites: &[&Site]) {
    let pools_of = |site: &Site| -> Vec<String> {
        let mut names = match (site.pool_names(), &config.default_pools) {
            (Some(names), _) => names.iter().map(|&name| name.to_owned()).collect(),
            (None, Some(names)) => names.clone(),
            (None, None) => config.pools.keys().cloned().collect::<Vec<_>>(),
        };
        names.sort_unstable();
        names
    };
    for (index, one) in sites.iter().enumerate() {
        for other in &sites[index + 1..] {
            if one.resource_template() == other.resource_template()
                && pools_of(one) != pools_of(other)
            {
                tracing::warn!(
                    template = one.resource_template(),
                    "{one} and {other} lock the same resource on different pools: they do not \
                     exclude each other",
                );
            }
        }
    }
}

/// The library's I/O thread, where a registry was started.
pub(crate) fn io() -> Option<&'static IoThread> {
    IO.get()
}
