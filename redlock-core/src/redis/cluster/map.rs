//! The slots of each master.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::env::caught::log;
use crate::node::hash_slot::SLOTS;
use crate::node::{Node as _, NodeError, NodeErrorKind, NodeStatus};
use crate::redis::address::{RedisAddress, Server};
use crate::redis::server::ServerNode;

use super::ClusterShared;
use super::view::Range;

/// The most masters that a status names.
const MOST_NAMED: usize = 3;

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
    ranges: BTreeMap<u16, (u16, Arc<Shard>)>,
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
                NodeStatus::Abstaining(error) => Some((&it.server, error)),
                NodeStatus::Voting => None,
            });
        let errors: Vec<_> = errors.collect();
        // An error that no time heals comes first.
        let kinds = errors.iter().map(|(_, error)| error.kind());
        let kind = kinds.max_by_key(|kind| *kind == NodeErrorKind::Refused)?;
        let named = errors.iter().take(MOST_NAMED);
        let named: Vec<_> = named
            .map(|(server, it)| format!("{server}: {it}"))
            .collect();
        let named = named.join("; ");
        let text = format!("{served} of {SLOTS} slots are served; {named}");
        Some(NodeStatus::Abstaining(NodeError::unsent(kind, text)))
    }
}

impl Shard {
    pub(super) fn votes(&self) -> bool {
        matches!(self.node.inbox.status(), NodeStatus::Voting)
    }

    /// True if it is the master of `range`, by its name or else by its address.
    fn is_of(&self, range: &Range) -> bool {
        self.id == range.id && (self.id.is_some() || self.server == range.master)
    }

    /// True if the connection leads to the master of `range`. Servers of a Cluster may call a master by different
    /// addresses: some use a host name, and a seed uses the address at which it was asked. Two connections to one server
    /// would have two orders of calls, so the first one stays for as long as it stands. Later another server may have
    /// its address.
    fn may_stay(&self, range: &Range) -> bool {
        let stands = || self.node.inbox.health().connections <= 1 && self.votes();
        self.is_of(range) && (self.server == range.master || stands())
    }
}

impl ClusterShared {
    /// Replaces the map: new masters get connections, and masters without slots are retired.
    pub(super) async fn apply(&self, ranges: &[Range]) {
        let old = self.map();
        let mut new = SlotMap::default();
        for range in ranges {
            let known = new.shards.iter().find(|it| it.is_of(range)).cloned();
            let shard = known.unwrap_or_else(|| {
                let mut before = old.shards.iter();
                let stays = before.find(|it| it.may_stay(range)).cloned();
                let shard = stays.unwrap_or_else(|| self.start_shard(range));
                new.shards.push(Arc::clone(&shard));
                shard
            });
            new.ranges.insert(range.first, (range.last, shard));
        }
        let stays = |shard: &&Arc<Shard>| new.shards.iter().any(|it| Arc::ptr_eq(it, shard));
        let gone: Vec<_> = old.shards.iter().filter(|it| !stays(it)).cloned().collect();
        for shard in &gone {
            // Its word no longer counts: it may yet grant what its successor has granted.
            shard.node.cut_off().await;
            log!(
                info,
                pool = %self.name, server = %shard.server,
                "server is no longer a master of the Cluster",
            );
        }
        {
            // In one step: a reader of the sums finds each master once.
            let mut state = self.state.lock();
            state.retired.extend(gone);
            *self.map.write() = Arc::new(new);
        }
        drop(old);
        // The successors are not connected yet, so these releases reach them before any acquisition.
        self.deliver_owed();
    }

    fn start_shard(&self, range: &Range) -> Arc<Shard> {
        let server = range.master.clone();
        let address = Arc::new(RedisAddress::of_server(server.clone()));
        let (options, news) = (self.options.clone(), Some(Arc::clone(&self.news)));
        Arc::new(Shard {
            node: ServerNode::start(&self.name, &address, options, news, &self.io),
            id: range.id.clone(),
            server,
        })
    }
}
