//! The map of a Cluster: its masters, and the slots of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::node::hash_slot::{SLOTS, slot_of};
use crate::node::{Call, Node as _, NodeError, NodeStatus};
use crate::redis::address::Server;
use crate::redis::errors::together;
use crate::redis::server::ServerNode;

/// A master of the Cluster, with its own driver and connection.
pub(super) struct Shard {
    pub(super) server: Server,
    pub(super) node: ServerNode,
}

/// The latest map that a server of the Cluster has reported. Empty until the map is known.
#[derive(Default)]
pub(super) struct SlotMap {
    /// Ranges of slots. The key is the first slot of a range; the value is the last slot and the master.
    pub(super) ranges: BTreeMap<u16, (u16, Arc<Shard>)>,
    /// The masters by their ids in the Cluster, because one master may have several addresses.
    pub(super) shards: BTreeMap<String, Arc<Shard>>,
}

impl SlotMap {
    /// Returns the master of the call's slot. If no master is known to have the slot, returns any master. That master
    /// rejects the call, and keeps a release as an owed release.
    pub(super) fn owner(&self, call: &Call) -> Option<&Arc<Shard>> {
        self.owner_of(slot_of(call.first_key()))
    }

    pub(super) fn owner_of(&self, slot: u16) -> Option<&Arc<Shard>> {
        let range = self.ranges.range(..=slot).next_back();
        let known = range.filter(|(_, (last, _))| slot <= *last);
        let known = known.map(|(_, (_, shard))| shard);
        known.or_else(|| self.shards.values().next())
    }

    pub(super) fn status(&self) -> NodeStatus {
        let served = self.ranges.iter().filter(|(_, (_, it))| it.votes());
        let served: u32 = served
            .map(|(first, (last, _))| u32::from(last - first) + 1)
            .sum();
        if served == u32::from(SLOTS) {
            return NodeStatus::Voting;
        }
        let errors = self
            .shards
            .values()
            .filter_map(|it| match it.node.inbox.status() {
                NodeStatus::Abstaining(error) => Some((it.server.clone(), error)),
                NodeStatus::Voting => None,
            });
        let error = together(&errors.collect::<Vec<_>>());
        let text = format!("{served} of {SLOTS} slots are served; {error}");
        NodeStatus::Abstaining(NodeError::unsent(error.kind(), text))
    }
}

impl Shard {
    fn votes(&self) -> bool {
        matches!(self.node.inbox.status(), NodeStatus::Voting)
    }

    /// True if the connection leads to the master that the new map calls `server`. Servers of a Cluster may use
    /// different addresses for one master: some use a host name, and a seed uses the address at which it was asked. The
    /// first connection to a master is kept while it lasts, because calls on two connections would lose their order.
    /// After a reconnect only the address counts, because another server may have the old address by now.
    pub(super) fn leads_to(&self, server: &Server) -> bool {
        self.server == *server || self.votes() && !self.node.inbox.has_reconnected()
    }
}
