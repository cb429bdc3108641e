//! A Redis server, or a Redis Cluster, as a node.
//!
//! An operation is a message to the node's own driver, a task on the library's I/O thread that
//! owns the connection: it connects in the background, writes what has piled up in one go, and
//! matches answers to operations by their order. Callers never share a lock across an await.

mod address;
mod cluster;
mod connection;
mod protocol;
mod sentinel;
mod server;
mod tracking;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use address::RedisAddress;
pub use connection::tls::TlsOptions;
pub use connection::vetting::Vetting;
#[cfg(feature = "simulation")]
pub(crate) use protocol::scripts::all as scripts;

use crate::env::io_thread::IoThread;
use crate::node::observe::ObserveAnswers;
use crate::node::operation::Operation;
use crate::node::watch::Watch;
use crate::node::{EpochListener, Node, NodeStatus, NodeTime, NodeVitals, Reply};
use crate::restart_check::Fleet;
use address::Place;
use cluster::Cluster;
use server::inbox::Submission;
use server::link::Link;

/// How a Redis node's driver behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedisOptions {
    /// How long one attempt to connect, handshake included, may take.
    pub connect_timeout: Duration,
    /// When an answer has been out for so long, the node votes no at once until it answers again.
    pub suspect_after: Duration,
    /// When an answer has been out for so long, the connection is given up and made anew.
    pub dead_after: Duration,
    /// An idle connection is tried so often, so that one that died in silence is replaced before
    /// anybody needs it. A node of a fleet is checked so often, idle or not.
    pub heartbeat: Duration,
    /// A node has a second connection while somebody waits for a lock, on which the server tells of
    /// released ones. It is closed when nobody has waited for so long; and a server that will not tell
    /// is asked again after so long.
    pub watch_idle: Duration,
    /// How many operations may be in flight; beyond that the node votes no at once.
    pub max_in_flight: usize,
    /// The nodes that this one is guarded with: whether it may have forgotten locks, whether its
    /// clock steps, what kind of server it is. Without a fleet nobody asks.
    pub fleet: Option<Arc<Fleet>>,
    /// What becomes of a server that a lock cannot rely on.
    pub vetting: Vetting,
    /// The server forgets nothing when it restarts: `appendfsync always`, no replica that is
    /// promoted. Then a restart needs no quarantine. Means nothing for an address that
    /// [fails over](RedisAddress::fails_over).
    pub trust_aof: bool,
    /// Who is told how long each answer took.
    pub answers: Option<Arc<dyn ObserveAnswers>>,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            suspect_after: Duration::from_millis(200),
            dead_after: Duration::from_secs(5),
            heartbeat: Duration::from_secs(10),
            watch_idle: Duration::from_secs(30),
            max_in_flight: 16_384,
            fleet: None,
            vetting: Vetting::Refuse,
            trust_aof: false,
            answers: None,
        }
    }
}

/// One Redis server, or a Redis Cluster as one node. Dropping it ends its drivers, once what was
/// submitted has been sent.
pub struct RedisNode {
    name: Arc<str>,
    address: Arc<RedisAddress>,
    service: Service,
}

enum Service {
    Server(Link),
    Cluster(Cluster),
}

impl RedisNode {
    /// Starts a driver for the server at `address` on `io`, or one for each master of a Cluster, and
    /// begins to connect. Returns at once; see [`settled`](Self::settled).
    ///
    /// The masters of a Cluster are not guarded: `options.fleet` and `options.trust_aof` are passed
    /// over.
    pub fn start(
        name: impl Into<Arc<str>>,
        address: RedisAddress,
        mut options: RedisOptions,
        io: &IoThread,
    ) -> Self {
        let name = name.into();
        // The file of a promoted replica lacks what the replica lacked.
        options.trust_aof &= !address.fails_over();
        let address = Arc::new(address);
        let service = match &address.place {
            Place::Cluster(seeds) => {
                Service::Cluster(Cluster::start(&name, seeds.clone(), options, io))
            }
            Place::Server(_) | Place::Sentinel(_) => {
                Service::Server(Link::start(&name, &address, options, None, io))
            }
        };
        Self {
            name,
            address,
            service,
        }
    }

    /// Waits until the first attempt to connect has succeeded or failed, and, in a fleet, until it
    /// is known whether the node votes.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn settled(&self) {
        match &self.service {
            Service::Server(link) => link.inbox.settled().await,
            Service::Cluster(cluster) => cluster.settled().await,
        }
    }

    /// Where the server is.
    pub fn address(&self) -> &RedisAddress {
        &self.address
    }

    /// Whether both are one Cluster, as far as is known by now: they have a master in common.
    pub fn is_same_cluster(&self, other: &Self) -> bool {
        match (&self.service, &other.service) {
            (Service::Cluster(one), Service::Cluster(other)) => one.shares_a_master_with(other),
            _ => false,
        }
    }
}

impl Node for RedisNode {
    fn name(&self) -> &str {
        &self.name
    }

    fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        match &self.service {
            Service::Server(link) => link.inbox.submit(operation, reply),
            Service::Cluster(cluster) => cluster.submit(operation, reply),
        }
    }

    fn has_hash_slots(&self) -> bool {
        matches!(self.service, Service::Cluster(_))
    }

    fn lanes(&self) -> usize {
        match &self.service {
            Service::Server(_) => 1,
            Service::Cluster(cluster) => cluster.lanes(),
        }
    }

    fn submit_on(&self, lane: usize, operation: Arc<Operation>, reply: Reply) {
        match &self.service {
            Service::Server(link) => {
                // Only a part of a Cluster gives it back.
                let _ = link.inbox.deliver(Submission::barrier(operation, reply));
            }
            Service::Cluster(cluster) => cluster.submit_on(lane, operation, reply),
        }
    }

    fn watch(&self, watch: Watch) {
        match &self.service {
            Service::Server(link) => link.lookout.watch(watch),
            Service::Cluster(cluster) => cluster.watch(watch),
        }
    }

    fn status(&self) -> NodeStatus {
        match &self.service {
            Service::Server(link) => link.inbox.status(),
            Service::Cluster(cluster) => cluster.status(),
        }
    }

    fn vitals(&self) -> NodeVitals {
        let mut vitals = match &self.service {
            Service::Server(link) => link.vitals(),
            Service::Cluster(cluster) => cluster.vitals(),
        };
        vitals.server = Some(self.address.to_string());
        vitals
    }

    fn epoch(&self) -> u32 {
        match &self.service {
            Service::Server(link) => link.inbox.epoch(),
            // Nobody asks its masters what they may have forgotten.
            Service::Cluster(_) => 0,
        }
    }

    fn time(&self) -> NodeTime {
        match &self.service {
            Service::Server(link) => link.time(),
            // Nobody looks at the clocks of its masters.
            Service::Cluster(_) => NodeTime::Uncompared,
        }
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        if let Service::Server(link) = &self.service {
            link.inbox.on_new_epoch(listener);
        }
    }
}

impl fmt::Debug for RedisNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisNode")
            .field("name", &self.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
