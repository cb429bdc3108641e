//! The slots of each master.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::node::hash_slot::{SLOTS, slot_of};
use crate::node::{Call, Node as _, NodeError, NodeStatus};
use crate::redis::address::Server;
use crate::redis::errors::together;
use crate::redis::server::ServerNode;

/// One master, as a node of its own.
pub(super) struct Shard {
    pub(super) server: Server,
    pub(super) node: ServerNode,
}

/// The map as one server of the Cluster told it last. Empty until the map is known.
#[derive(Default)]
pub(super) struct SlotMap {
    /// The last of neighbouring slots, and their master, by the first slot.
    pub(super) ranges: BTreeMap<u16, (u16, Arc<Shard>)>,
    /// The masters by the Cluster's own names for them, which do not depend on addresses.
    pub(super) shards: BTreeMap<String, Arc<Shard>>,
}

impl SlotMap {
    /// The master of the call's slot. A slot without a known master goes to any: that one says so, and owes a release.
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

    /// True if the connection leads to this master, which is called `server` now. Servers of a Cluster may call a master
    /// by different addresses: some use a host name, and a seed uses the address at which it was asked. Two connections to
    /// one server would have two orders of calls, so the first one stays for as long as it stands. Later another server
    /// may have its address.
    pub(super) fn leads_to(&self, server: &Server) -> bool {
        self.server == *server || self.votes() && !self.node.inbox.has_reconnected()
    }
}
