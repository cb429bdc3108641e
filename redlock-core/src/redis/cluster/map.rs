//! The slots of each master.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::node::hash_slot::SLOTS;
use crate::node::{Node as _, NodeError, NodeStatus};
use crate::redis::address::Server;
use crate::redis::errors::together;
use crate::redis::server::ServerNode;

use super::view::Range;

/// One master, as a node of its own.
pub(super) struct Shard {
    pub(super) server: Server,
    /// The Cluster's own name of it, which does not depend on its address.
    pub(super) id: Option<String>,
    pub(super) node: ServerNode,
}

/// The map as one server of the Cluster told it last.
#[derive(Default)]
pub(super) struct SlotMap {
    /// By the first of neighbouring slots: the last one, and the master. Empty until the map is known.
    pub(super) ranges: BTreeMap<u16, (u16, Arc<Shard>)>,
    pub(super) shards: Vec<Arc<Shard>>,
}

impl SlotMap {
    pub(super) fn owner(&self, slot: u16) -> Option<&Arc<Shard>> {
        let (_, (last, shard)) = self.ranges.range(..=slot).next_back()?;
        (slot <= *last).then_some(shard)
    }

    pub(super) fn is_owner(&self, slot: u16, shard: &Arc<Shard>) -> bool {
        self.owner(slot).is_some_and(|it| Arc::ptr_eq(it, shard))
    }

    /// `None` if a slot has no master, and all masters vote.
    pub(super) fn status(&self) -> Option<NodeStatus> {
        let served = self.ranges.iter().filter(|(_, (_, it))| it.votes());
        let served: u32 = served
            .map(|(first, (last, _))| u32::from(last - first) + 1)
            .sum();
        if served == u32::from(SLOTS) {
            return Some(NodeStatus::Voting);
        }
        let errors = self
            .shards
            .iter()
            .filter_map(|it| match it.node.inbox.status() {
                NodeStatus::Abstaining(error) => Some((it.server.clone(), error)),
                NodeStatus::Voting => None,
            });
        let errors: Vec<_> = errors.collect();
        if errors.is_empty() {
            return None;
        }
        let error = together(&errors);
        let text = format!("{served} of {SLOTS} slots are served; {error}");
        Some(NodeStatus::Abstaining(NodeError::unsent(
            error.kind(),
            text,
        )))
    }
}

impl Shard {
    pub(super) fn votes(&self) -> bool {
        matches!(self.node.inbox.status(), NodeStatus::Voting)
    }

    /// True if it is the master of `range`, by its name or else by its address.
    pub(super) fn is_of(&self, range: &Range) -> bool {
        self.id == range.id && (self.id.is_some() || self.server == range.master)
    }

    /// True if the connection leads to the master of `range`. Servers of a Cluster may call a master by different
    /// addresses: some use a host name, and a seed uses the address at which it was asked. Two connections to one server
    /// would have two orders of calls, so the first one stays for as long as it stands. Later another server may have
    /// its address.
    pub(super) fn may_stay(&self, range: &Range) -> bool {
        let stands = || self.node.inbox.health().connections <= 1 && self.votes();
        self.is_of(range) && (self.server == range.master || stands())
    }
}
