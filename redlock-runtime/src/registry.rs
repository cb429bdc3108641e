//! The registry: pools by name, defaults, and what is held.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use redlock_core::{Client, Environment, Invalid, MemoryNode, Node, NodeSet, NodeStatus, Resource};

use crate::chain;
use crate::config::{Config, HttpSettings};
use crate::error::{LockError, LockErrorKind, Subject};
use crate::held::{Entry, HeldLease, HeldTable};
use crate::lease::{Lease, Limits, check_max_ttl};
use crate::parameters::Parameters;
use crate::shutdown::Shutdown;
use crate::site::Site;

/// Where calls find their pools. Clones are the same registry.
///
/// An annotated call looks for one in its task ([`scope`](Self::scope)), then in its thread
/// ([`enter`](Self::enter)), then takes the one that [`init`](crate::init) made.
#[derive(Clone)]
pub struct Registry {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) environment: Environment,
    pub(crate) client: Client,
    pools: BTreeMap<String, Pool>,
    /// The sets of nodes that sites name, so that a call need not put one together.
    known_sets: Vec<(Vec<String>, NodeSet)>,
    default_set: NodeSet,
    defaults: Parameters,
    limits: Arc<Limits>,
    pub(crate) held: Arc<HeldTable>,
    pub(crate) shutdown: Shutdown,
}

/// One configured node.
pub(crate) struct Pool {
    pub(crate) node: Arc<dyn Node>,
    /// The same node, where it is in this process.
    pub(crate) memory: Option<MemoryNode>,
}

/// One acquisition, before defaults.
pub(crate) struct Wanted {
    pub(crate) resource: Resource,
    pub(crate) site: Option<&'static Site>,
    pub(crate) pools: PoolNames,
    pub(crate) parameters: Parameters,
    /// A body runs as soon as the lock is there.
    pub(crate) has_body: bool,
}

/// Which pools a lock is taken on.
pub(crate) enum PoolNames {
    Default,
    Static(&'static [&'static str]),
    Owned(Vec<String>),
}

/// Whether a node votes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolHealth {
    /// The pool's name.
    pub pool: String,
    /// Whether it votes, and why not.
    pub status: NodeStatus,
}

impl Registry {
    pub(crate) fn new(
        config: &Config,
        environment: Environment,
        pools: BTreeMap<String, Pool>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let client = Client::with_settings(
            environment.clone(),
            config.node_timeout,
            config.key_prefix.as_bytes(),
        );
        let all = || pools.keys().cloned().collect();
        let names: Vec<String> = config.default_pools.clone().unwrap_or_else(all);
        let limits = Limits {
            registry: NEXT.fetch_add(1, Ordering::Relaxed),
            max_ttl: config.max_ttl,
            http: config.http,
        };
        let default_set = set_of(&pools, names.iter().map(String::as_str)).unwrap_or_default();
        let mut known_sets: Vec<(Vec<String>, NodeSet)> = Vec::new();
        for site in crate::site::sites() {
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
        let shared = Shared {
            environment,
            client,
            pools,
            known_sets,
            default_set,
            defaults: config.defaults,
            limits: Arc::new(limits),
            held: Arc::default(),
            shutdown: Shutdown::new(config.shutdown_grace, config.shutdown_deadline),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Everything that is held right now, in the order in which it was acquired.
    pub fn held(&self) -> Vec<HeldLease> {
        self.shared
            .held
            .entries()
            .iter()
            .map(Entry::describe)
            .collect()
    }

    /// Each pool in the order of its name, and whether it votes.
    pub fn health(&self) -> Vec<PoolHealth> {
        let pools = self.shared.pools.iter();
        pools
            .map(|(pool, it)| PoolHealth {
                pool: pool.clone(),
                status: it.node.status(),
            })
            .collect()
    }

    /// The in-process node behind a `memory://` pool, to look into or to cut off.
    pub fn memory_node(&self, pool: &str) -> Option<&MemoryNode> {
        self.shared.pools.get(pool)?.memory.as_ref()
    }

    /// Ends the leases that have no majority any more, whenever a node may have forgotten locks.
    pub(crate) fn recheck_at_new_epochs(&self) {
        for pool in self.shared.pools.values() {
            // The node outlives nothing of the registry.
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

    pub(crate) fn http(&self) -> HttpSettings {
        self.shared.limits.http
    }

    /// The one way to a lock.
    pub(crate) async fn acquire(&self, wanted: Wanted) -> Result<Lease, LockError> {
        let shared = &*self.shared;
        let parameters = wanted.parameters.above(shared.defaults);
        let policies = (
            parameters.on_lost.unwrap_or_default(),
            parameters.on_cancel.unwrap_or_default(),
        );
        let fail = |kind| {
            Err(LockError::new(
                kind,
                Subject::Resource(wanted.resource.clone()),
                self.http(),
            ))
        };
        let request = match parameters.request(wanted.resource.clone()) {
            Ok(request) => request,
            Err(invalid) => return fail(LockErrorKind::Invalid(invalid)),
        };
        if let Err(invalid) = check_max_ttl(request.ttl, shared.limits.max_ttl) {
            return fail(LockErrorKind::Invalid(invalid));
        }
        let nodes = match self.node_set(&wanted.pools) {
            Ok(nodes) => nodes,
            Err(kind) => return fail(kind),
        };

        let epochs = epochs_of(&nodes);
        // Work below a held lease belongs to what a shutdown waits for.
        let is_below = self.is_below_held();
        // Outlives everything below that may have to be undone on the nodes.
        let _under_way;
        let acquired = {
            // Made before the gate is read, so that a close in between is heard of.
            let mut closing = pin!(shared.held.closing.notified());
            match shared.held.begin(is_below) {
                Some(under_way) => _under_way = under_way,
                None => return fail(LockErrorKind::ShuttingDown),
            }
            let mut acquiring = pin!(shared.client.acquire(&nodes, &request));
            poll_fn(|context| {
                if let Poll::Ready(acquired) = acquiring.as_mut().poll(context) {
                    return Poll::Ready(Some(acquired));
                }
                if is_below {
                    Poll::Pending
                } else {
                    closing.as_mut().poll(context).map(|()| None)
                }
            })
            .await
        };
        let core = match acquired {
            None => return fail(LockErrorKind::ShuttingDown),
            Some(Ok(core)) => core,
            Some(Err(error)) => {
                tracing::debug!(
                    site = wanted.site.map(tracing::field::debug),
                    resource = %request.resource, reason = %error,
                    "not locked",
                );
                return Err(LockError::of_acquire(error, request.resource, self.http()));
            }
        };
        let Some(place) = shared.held.enter(&wanted, core.handle(), is_below) else {
            // The gate closed while the last vote came in.
            core.release().await;
            return fail(LockErrorKind::ShuttingDown);
        };
        // A node that forgot between its grant and the entry told those that were entered before.
        if epochs_of(&nodes) != epochs {
            core.recheck();
        }
        tracing::debug!(
            site = wanted.site.map(tracing::field::debug),
            resource = %request.resource, token = core.token_id(),
            "locked",
        );
        Ok(Lease::new(
            core,
            place,
            Arc::clone(&shared.limits),
            policies,
        ))
    }

    fn is_below_held(&self) -> bool {
        let innermost = chain::current();
        std::iter::successors(innermost.as_deref(), |link| link.above.as_deref()).any(|link| {
            link.lease.registry() == self.shared.limits.registry && !link.lease.is_over()
        })
    }

    fn node_set(&self, names: &PoolNames) -> Result<NodeSet, LockErrorKind> {
        let shared = &*self.shared;
        match names {
            PoolNames::Default => Ok(Arc::clone(&shared.default_set)),
            PoolNames::Static(names) => {
                let known = shared.known_sets.iter().find(|(known, _)| known == names);
                match known {
                    Some((_, set)) => Ok(Arc::clone(set)),
                    None => set_of(&shared.pools, names.iter().copied()),
                }
            }
            PoolNames::Owned(names) => {
                for (index, name) in names.iter().enumerate() {
                    if names[..index].contains(name) {
                        return Err(LockErrorKind::Invalid(Invalid::new(format!(
                            "the pool `{name}` is named twice; one pool has one vote"
                        ))));
                    }
                }
                set_of(&shared.pools, names.iter().map(String::as_str))
            }
        }
    }
}

/// Another number whenever one of the nodes began a new epoch.
fn epochs_of(nodes: &NodeSet) -> u32 {
    nodes
        .iter()
        .fold(0, |sum, node| sum.wrapping_add(node.epoch()))
}

fn set_of<'a>(
    pools: &BTreeMap<String, Pool>,
    names: impl Iterator<Item = &'a str>,
) -> Result<NodeSet, LockErrorKind> {
    let nodes: Result<Vec<_>, _> = names
        .map(|name| match pools.get(name) {
            Some(pool) => Ok(Arc::clone(&pool.node)),
            None => Err(LockErrorKind::UnknownPool {
                pool: name.to_owned(),
                configured: pools.keys().cloned().collect(),
            }),
        })
        .collect();
    match nodes {
        Ok(nodes) if nodes.is_empty() => Err(LockErrorKind::Invalid(Invalid::new(
            "no pools are named; name at least one, or leave `pools` out",
        ))),
        Ok(nodes) => Ok(nodes.into()),
        Err(kind) => Err(kind),
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}
