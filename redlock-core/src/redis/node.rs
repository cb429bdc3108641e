//! [`RedisNode`]: a Redis server, or a whole Redis Cluster, as a node.

use std::sync::Arc;

use crate::debug::debug_in_part;
use crate::io_thread::IoThread;
use crate::node::watch::Watch;
use crate::node::{Answer, EpochListener, Node, NodeHealth, NodeStatus, Submission};
use crate::process::{FORKED, is_forked};

use super::address::RedisAddress;
#[cfg(feature = "cluster")]
use super::address::Target;
#[cfg(feature = "cluster")]
use super::cluster::Cluster;
use super::errors::not_connected;
use super::options::RedisOptions;
use super::server::ServerNode;

/// A Redis server, or a whole Redis Cluster, as one node.
///
/// Dropping the node ends its drivers once they have sent all submitted operations.
pub struct RedisNode {
    address: Arc<RedisAddress>,
    service: Service,
}

enum Service {
    Server(ServerNode),
    #[cfg(feature = "cluster")]
    Cluster(Cluster),
}

impl RedisNode {
    /// Starts a node for `address`, and begins to connect. Returns at once; see
    /// [`wait_until_settled`](Self::wait_until_settled).
    ///
    /// The driver runs on the current runtime, or on `io` if there is none. When that runtime ends, the driver moves to
    /// `io`. The drivers of a Cluster's masters always run on `io`.
    ///
    /// The restart check does not cover a Cluster. For a Cluster, only the key prefix of `options.checked_set` counts,
    /// and `options.trust_aof` has no effect.
    pub fn start(
        name: impl Into<Arc<str>>,
        address: RedisAddress,
        mut options: RedisOptions,
        io: &IoThread,
    ) -> Self {
        let name = name.into();
        // A promoted replica may lack writes, and then its append-only file lacks them too.
        options.trust_aof &= !address.fails_over();
        let options = options.within_bounds();
        let address = Arc::new(address);
        let service = match &address.0 {
            #[cfg(feature = "cluster")]
            Target::Cluster(seeds) => {
                Service::Cluster(Cluster::start(&name, seeds.clone(), options, io))
            }
            _ => Service::Server(ServerNode::start(&name, &address, options, None, io)),
        };
        Self { address, service }
    }

    /// Waits until the first attempt to connect has succeeded or failed. In a checked set, also waits until the restart
    /// check has decided if the node votes.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn wait_until_settled(&self) {
        match &self.service {
            Service::Server(server) => server.inbox.wait_until_settled().await,
            #[cfg(feature = "cluster")]
            Service::Cluster(cluster) => cluster.wait_until_settled().await,
        }
    }

    /// Returns the address of the node.
    pub fn address(&self) -> &RedisAddress {
        &self.address
    }

    /// True if both nodes are known to be one Cluster, because their maps have a master in common.
    pub fn is_same_cluster(&self, other: &Self) -> bool {
        match (&self.service, &other.service) {
            #[cfg(feature = "cluster")]
            (Service::Cluster(one), Service::Cluster(other)) => one.shares_a_master_with(other),
            _ => false,
        }
    }

    fn service(&self) -> &dyn Node {
        match &self.service {
            Service::Server(server) => &*server.inbox,
            #[cfg(feature = "cluster")]
            Service::Cluster(cluster) => cluster,
        }
    }
}

impl Node for RedisNode {
    fn name(&self) -> &str {
        self.service().name()
    }

    fn submit(&self, submission: Submission) {
        if is_forked() {
            // The connection and its locks belong to the parent process, so a fork must leave them alone.
            return submission.answer(Answer::Failed(not_connected(FORKED)));
        }
        self.service().submit(submission);
    }

    fn has_hash_slots(&self) -> bool {
        self.service().has_hash_slots()
    }

    fn drained(&self) -> bool {
        self.service().drained()
    }

    fn dispatched(&self) -> bool {
        self.service().dispatched()
    }

    fn watch(&self, watch: Watch) {
        self.service().watch(watch);
    }

    fn status(&self) -> NodeStatus {
        if is_forked() {
            return NodeStatus::Abstaining(not_connected(FORKED));
        }
        self.service().status()
    }

    fn health(&self) -> NodeHealth {
        let mut health = self.service().health();
        health.server = Some(self.address.to_string());
        health
    }

    fn epoch(&self) -> u32 {
        self.service().epoch()
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        self.service().on_new_epoch(listener);
    }
}

debug_in_part!(RedisNode, it => name: it.name(), address: it.address);
