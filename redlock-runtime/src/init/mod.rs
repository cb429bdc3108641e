//! The start of a registry, from a configuration.

mod ready;
mod redlock;

use std::collections::BTreeMap;
use std::sync::Arc;

use redlock_core::internal::is_forked;
use redlock_core::redis::RedisOptions;
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_core::targets;
use redlock_core::{IoThread, MemoryNode, Node, RedisNode};

use crate::config::{CheckedConfig, Config, MakeNode, PoolAddress, check_logins, check_servers};
use crate::error::{InitError, Problem, ProblemKind};
use crate::registry::io_thread::io_thread;
use crate::registry::pools::PoolNode;
use crate::registry::{Registry, RegistryShared, scope, signal};
#[cfg(feature = "metrics")]
use crate::telemetry;
use crate::text::{ShownName, shown_text};

pub use redlock::Redlock;

/// Starts the global registry: connects to the pools and checks every annotated function of the
/// program against the configuration.
///
/// A start succeeds although nodes are down, or have to wait because they may have forgotten locks. Such nodes abstain
/// until they may vote. `init` returns once each node votes or abstains for a known reason. That takes at most the
/// configured `connect_timeout`, or a few seconds if other processes are opening a new set of nodes.
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
/// The present runtime drives the connections to the nodes. While something blocks all its threads, the nodes do not
/// vote for this process.
///
/// # Errors
/// [`InitError`] with every problem:
/// * no pools, an invalid URL, two pools that are one node, or defaults outside the limits;
/// * a function with an unknown pool, or with a ttl above `max_ttl`, and functions with equal names;
/// * an override that fits no function, or several;
/// * a server that a lock cannot rely on (see [`Config::vetting`]);
/// * a [node of your own](Config::pool_node) that cannot be made;
/// * default pools that refuse the login or the database, or whose certificate is not trusted, if the other pools are
///   too few for a majority;
/// * a function whose pools refuse the commands of its kind of lock;
/// * a registry that is running already.
///
/// # Cancellation
/// Dropping the future starts nothing.
pub async fn init(config: Config) -> Result<Redlock, InitError> {
    const RUNNING: &str = "a registry is running already; call `init` once, or use \
                           `Redlock::start` and `Registry::scope` for one of its own";
    let checked = CheckedConfig::with_all_sites(config)?;
    let registry = Registry::start(&checked).await?;
    // Make a `Redlock` only for the registry that became the global one, because its drop logs a shutdown.
    if !scope::set_global(registry.clone()) {
        let problem = Problem::new(ProblemKind::AlreadyRunning, RUNNING);
        return Err(InitError(vec![problem]));
    }
    Ok(Redlock { registry })
}

impl Registry {
    /// Starts the registry of a checked configuration.
    async fn start(checked: &CheckedConfig) -> Result<Self, InitError> {
        let io = io_thread().map_err(|error| {
            let text = format!("the I/O thread cannot start: {error}");
            let kind = if is_forked() {
                ProblemKind::AlreadyRunning
            } else {
                ProblemKind::NoThread
            };
            InitError(vec![Problem::new(kind, text)])
        })?;
        let options = redis_options(checked);
        let nodes = start_nodes(checked, &options, io)?;
        for server in &nodes.servers {
            server.wait_until_settled().await;
        }
        check_servers(checked, &nodes.servers)?;
        let shared = RegistryShared::new(checked, io.environment(), nodes.by_pool);
        let registry = Self {
            shared: Arc::new(shared),
        };
        check_logins(checked, &registry.shared.pools.default_set)?;
        registry.watch(&checked.config);
        Ok(registry)
    }

    /// Starts the background work: rechecks leases that a node may have forgotten, reports figures, and listens for
    /// signals.
    fn watch(&self, config: &Config) {
        if !self.votes().suffice() {
            let reason = ready::votes_of(self);
            tracing::warn!(target: targets::START, %reason, "calls fail until a majority of the pools votes");
        }
        self.shared.recheck_at_new_epochs();
        #[cfg(feature = "metrics")]
        self.sample_nodes();
        if config.release_on_exit {
            signal::release_on_exit(self);
        }
    }
}

/// Returns the options of all Redis nodes, with their restart check.
fn redis_options(checked: &CheckedConfig) -> RedisOptions {
    let config = &checked.config;
    RedisOptions::default()
        .connect_timeout(config.connect_timeout)
        .for_node_timeout(config.node_timeout)
        .checked_set(Arc::new(checked_set(checked)))
}

/// Returns the checked set of the nodes. Warns of pools that the restart check cannot protect.
fn checked_set(checked: &CheckedConfig) -> CheckedSet {
    let (config, addresses) = (&checked.config, &checked.addresses);
    let own = addresses.values().filter(|it| it.is_own()).count();
    let servers = addresses.iter().filter(|(_, it)| it.is_server());
    // A Redis Cluster has no restart check, so only single servers decide whether the set is new.
    let (clusters, single): (Vec<_>, Vec<_>) = servers.partition(|(_, it)| it.is_cluster());
    let count = clusters.len() + single.len() + own;
    // A node of the user's own may have been in use, and nobody asks it. So the set never counts as new.
    let default = match own {
        0 => RestartCheck::default_for(count),
        _ => RestartCheck::Strict,
    };
    let restart_check = config.restart_check.unwrap_or(default);
    if restart_check != RestartCheck::Off {
        for (pool, _) in clusters {
            tracing::warn!(
                target: targets::START, %pool,
                "a Redis Cluster has no restart check: after a failover it may grant a lock that it has forgotten",
            );
        }
    }
    if count > 0 && count.is_multiple_of(2) {
        tracing::warn!(
            target: targets::START, pools = count,
            "an even number of pools survives no more failures than one less; use an odd one",
        );
    }
    let prefix = config.key_prefix.as_bytes();
    CheckedSet::new(restart_check, config.max_ttl, single.len(), prefix)
}

/// The started nodes.
struct StartedNodes {
    by_pool: BTreeMap<String, PoolNode>,
    /// The nodes that are Redis servers.
    servers: Vec<Arc<RedisNode>>,
}

/// Starts a node for each pool.
///
/// # Errors
/// A problem for each node of the user's own that cannot be made.
fn start_nodes(
    checked: &CheckedConfig,
    options: &RedisOptions,
    io: &IoThread,
) -> Result<StartedNodes, InitError> {
    let mut problems = Vec::new();
    let mut started = StartedNodes {
        by_pool: BTreeMap::new(),
        servers: Vec::new(),
    };
    for (name, address) in &checked.addresses {
        let node = match address {
            PoolAddress::Memory(_) => {
                tracing::warn!(
                    target: targets::START, pool = name,
                    "this pool is in the process's memory: it excludes no other process",
                );
                let clock = io.environment().clock;
                PoolNode::in_memory(MemoryNode::new(name.as_str(), clock))
            }
            PoolAddress::Own(make) => match make_node(name, make, io) {
                Ok(node) => PoolNode { node, memory: None },
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            },
            PoolAddress::Redis(address) => {
                let options = options_of_pool(&checked.config, name, options.clone());
                let node = RedisNode::start(name.as_str(), address.clone(), options, io);
                let node = Arc::new(node);
                started.servers.push(Arc::clone(&node));
                PoolNode { node, memory: None }
            }
        };
        started.by_pool.insert(name.clone(), node);
    }
    Problem::none_of(problems, InitError).map(|()| started)
}

/// Makes the node of a pool by the user's code.
///
/// # Errors
/// A problem if the code fails, or if the node's name is not the pool's. With equal names, a set could have one node
/// twice.
fn make_node(pool: &str, make: &MakeNode, io: &IoThread) -> Result<Arc<dyn Node>, Problem> {
    let node = make(io.environment()).map_err(|error| {
        let why = shown_text(&error.to_string());
        let text = format!("the node of the pool `{pool}` cannot be made: {why}");
        Problem::new(ProblemKind::NodeNotMade, text).of_pools([pool])
    })?;
    let name = node.name();
    if name == pool {
        return Ok(node);
    }
    let text = format!(
        "the node of the pool `{pool}` says that its name is `{}`; a node has the name of its pool",
        ShownName(name),
    );
    Err(Problem::invalid(text).of_pools([pool]))
}

/// Returns the options of one pool's node.
fn options_of_pool(config: &Config, name: &str, options: RedisOptions) -> RedisOptions {
    let pool = &config.pools[name];
    #[cfg(feature = "metrics")]
    let options = options.answers(Arc::new(telemetry::metrics::LatencyRecorder {
        pool: name.into(),
    }));
    options
        .vetting(pool.vetting.unwrap_or_default())
        .trust_aof(pool.trust_aof.unwrap_or(false))
        .replicas(pool.replicas.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restart_check_of(config: Config) -> RestartCheck {
        let checked = CheckedConfig::new(config).expect("a configuration");
        checked_set(&checked).restart_check()
    }

    #[test]
    fn an_own_node_makes_the_default_restart_check_strict() {
        let server = Config::new().pool("a", "redis://127.0.0.1:1");
        assert_eq!(restart_check_of(server.clone()), RestartCheck::Off);
        let mixed = server.pool_node("b", |_| Err("not made".into()));
        assert_eq!(restart_check_of(mixed.clone()), RestartCheck::Strict);
        let standard = mixed.restart_check(RestartCheck::Standard);
        assert_eq!(restart_check_of(standard), RestartCheck::Standard);
    }
}
