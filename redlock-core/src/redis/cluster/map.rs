//! The slots of each master.

use std::fmt::Write as _;
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
    /// By slot. Empty until the map is known.
    owners: Vec<Option<Arc<Shard>>>,
    pub(super) shards: Vec<Arc<Shard>>,
}

impl SlotMap {
    pub(super) fn owner(&self, slot: u16) -> Option<&Arc<Shard>> {
        self.owners.get(usize::from(slot))?.as_ref()
    }

    pub(super) fn is_owner(&self, slot: u16, shard: &Arc<Shard>) -> bool {
        self.owner(slot).is_some_and(|it| Arc::ptr_eq(it, shard))
    }

    pub(super) fn status(&self) -> NodeStatus {
        let mut silent = Vec::new();
        for shard in &self.shards {
            if let NodeStatus::Abstaining(error) = shard.node.inbox.status() {
                silent.push((shard, error));
            }
        }
        let votes = |shard: &&Arc<Shard>| !silent.iter().any(|(it, _)| Arc::ptr_eq(it, shard));
        let served = self.owners.iter().flatten().filter(votes).count();
        if served == usize::from(SLOTS) {
            return NodeStatus::Voting;
        }
        let mut text = format!("{served} of {SLOTS} slots are served");
        for (shard, error) in silent.iter().take(MOST_NAMED) {
            // Writing to a string does not fail.
            let _ = write!(text, "; {}: {error}", shard.server);
        }
        let orphans = self.owners.iter().filter(|it| it.is_none()).count();
        if orphans > 0 {
            let _ = write!(text, "; {orphans} belong to no master");
        }
        // An error that no time heals comes first.
        let kinds = silent.iter().map(|(_, error)| error.kind());
        let kind = kinds.max_by_key(|kind| *kind == NodeErrorKind::Refused);
        let kind = kind.unwrap_or(NodeErrorKind::NotConnected);
        NodeStatus::Abstaining(NodeError::unsent(kind, text))
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
        let stands = || self.node.health().connections <= 1 && self.votes();
        self.is_of(range) && (self.server == range.master || stands())
    }
}

impl ClusterShared {
    /// Replaces the map: new masters get connections, and masters without slots are retired.
    pub(super) async fn apply(&self, ranges: &[Range]) {
        let old = self.map();
        let mut new = SlotMap {
            owners: vec![None; usize::from(SLOTS)],
            shards: Vec::new(),
        };
        for range in ranges {
            let known = new.shards.iter().find(|it| it.is_of(range)).cloned();
            let shard = known.unwrap_or_else(|| {
                let mut before = old.shards.iter();
                let stays = before.find(|it| it.may_stay(range)).cloned();
                let shard = stays.unwrap_or_else(|| self.start_shard(range));
                new.shards.push(Arc::clone(&shard));
                shard
            });
            let slots = usize::from(range.first)..=usize::from(range.last);
            new.owners[slots].fill(Some(shard));
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
