//! The ways to run a body under a lock, from the attribute down to the core, on in-process nodes.
//!
//! In-process nodes show the library's own cost, which a network would hide.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
use redlock_runtime::{Config, LockError, Redlock, lock, redlock};

const TTL: Duration = Duration::from_secs(60);

/// A way in which a body gets its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `#[redlock]`.
    Attribute,
    /// `lock(…).acquire()`, the body, `release()`: the lock taken by hand.
    ByHand,
    /// `lock(…).run(…)`.
    Run,
    /// The same by hand on `redlock-core`, below the registry.
    Core,
}

impl Way {
    /// All, in the order of the tables.
    pub(crate) const ALL: [Self; 4] = [Self::Attribute, Self::ByHand, Self::Run, Self::Core];

    /// Returns its name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Attribute => "#[redlock]",
            Self::ByHand => "by hand",
            Self::Run => "lock(…).run(…)",
            Self::Core => "redlock-core",
        }
    }
}

/// A body that runs under the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Nothing to speak of.
    Trivial,
    /// Yields to the executor once.
    AwaitsOnce,
}

impl Body {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Trivial, Self::AwaitsOnce];

    /// Returns its name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Trivial => "trivial body",
            Self::AwaitsOnce => "body that awaits once",
        }
    }
}

/// The in-process nodes of each way.
pub(crate) struct Grounds {
    redlock: Redlock,
    core: Core,
    /// The nodes' names in the registry.
    pools: Vec<String>,
}

impl fmt::Debug for Grounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grounds")
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Core {
    client: Client,
    nodes: NodeSet,
    stores: Vec<MemoryNode>,
}

impl Grounds {
    /// Starts a registry over `nodes` pools, and a client over as many nodes.
    pub(crate) async fn prepare(nodes: usize) -> Self {
        let pools: Vec<String> = (0..nodes).map(|node| format!("node-{node}")).collect();
        let config = pools.iter().fold(Config::new(), |config, pool| {
            config.pool(pool, format!("memory://{pool}"))
        });
        let redlock = Redlock::start(config).await.expect("in-process nodes");
        let io = IoThread::start().expect("an I/O thread");
        let environment = io.environment();
        let clock = &environment.clock;
        let node = |pool: &String| MemoryNode::new(&**pool, Arc::clone(clock));
        let stores: Vec<MemoryNode> = pools.iter().map(node).collect();
        let nodes = stores.iter().cloned();
        let nodes = nodes.map(|node| Arc::new(node) as Arc<dyn Node>).collect();
        let client = Client::new(environment);
        let core = Core {
            client,
            nodes,
            stores,
        };
        Self {
            redlock,
            core,
            pools,
        }
    }

    /// Calls `body` `count` times in `way`, one call after the other, each under another lock.
    ///
    /// # Panics
    /// If a call is not locked.
    pub(crate) fn calls(
        &self,
        way: Way,
        body: Body,
        count: u64,
    ) -> impl Future<Output = ()> + use<> {
        let registry = self.redlock.registry().clone();
        let core = self.core.clone();
        let calls = async move {
            for id in 0..count {
                let outcome = match way {
                    Way::Attribute => attribute(id, body).await,
                    Way::ByHand => by_hand(id, body).await,
                    Way::Run => run(id, body).await,
                    Way::Core => Ok(core.call(id, body).await),
                };
                assert_eq!(outcome.expect("nobody else wants the lock"), id);
            }
        };
        registry.scope(calls)
    }

    /// Keys that are still on a node.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let registry = self.redlock.registry();
        let pools = self
            .pools
            .iter()
            .filter_map(|pool| registry.memory_node(pool));
        let nodes = pools.chain(&self.core.stores);
        nodes
            .flat_map(|node| {
                node.keys()
                    .into_iter()
                    .map(|key| key.escape_ascii().to_string())
            })
            .collect()
    }
}

#[redlock(resource = "order:{id}", ttl = 60_000)]
async fn attribute(id: u64, body: Body) -> Result<u64, LockError> {
    Ok(body.run(id).await)
}

async fn by_hand(id: u64, body: Body) -> Result<u64, LockError> {
    let lease = lock(format!("order:{id}")).ttl(TTL).acquire().await?;
    let id = body.run(id).await;
    lease.release().await;
    Ok(id)
}

async fn run(id: u64, body: Body) -> Result<u64, LockError> {
    lock(format!("order:{id}")).ttl(TTL).run(body.run(id)).await
}

impl Body {
    async fn run(self, id: u64) -> u64 {
        if self == Self::AwaitsOnce {
            tokio::task::yield_now().await;
        }
        black_box(id)
    }
}

impl Core {
    async fn call(&self, id: u64, body: Body) -> u64 {
        let request = Request::new(format!("order:{id}")).ttl(TTL);
        let lease = self.client.acquire(&self.nodes, &request).await;
        let lease = lease.expect("nobody else wants the lock");
        let id = body.run(id).await;
        lease.release().await;
        id
    }
}
