//! The slots of each master.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::node::hash_slot::SLOTS;
use crate::node::{NodeError, NodeErrorKind, NodeStatus};

use super::super::address::Server;
use super::Shard;
use super::layout::{Layout, Range};

/// A slot without a master.
const NONE: u16 = u16::MAX;

/// The most masters that a status names.
const MOST_NAMED: usize = 3;

/// The map as one server of the Cluster told it last.
#[derive(Default)]
pub(super) struct SlotMap {
    /// By slot, an index into `shards`. Empty until the map is known.
    owners: Box<[u16]>,
    pub(super) shards: Vec<Arc<Shard>>,
    /// The names of each shard.
    names: Vec<Names>,
    /// The number of slots of each shard.
    counts: Vec<u16>,
    /// The Cluster's own names of its masters.
    pub(super) ids: BTreeSet<String>,
    /// Replicas, which know the map too.
    pub(super) replicas: Vec<Server>,
}

/// The names of one master. Servers of a Cluster may call it by different addresses: some use a host
/// name, and a seed uses the address at which it was asked.
#[derive(Clone)]
struct Names {
    /// The Cluster's own name.
    id: Option<String>,
    /// Each address leads to the same link.
    addresses: Vec<Server>,
    /// The number of connections of the link when the Cluster last used the address.
    connections: u64,
}

/// The most addresses of a master that are remembered.
const MOST_ADDRESSES: usize = 4;

impl SlotMap {
    /// Each master is the one of `old` with the same id, or else comes from `shard_at`.
    pub(super) fn of(
        layout: Layout,
        old: &Self,
        mut shard_at: impl FnMut(&Server) -> Arc<Shard>,
    ) -> Self {
        let mut owners = vec![NONE; usize::from(SLOTS)].into_boxed_slice();
        let (mut shards, mut names): (Vec<Arc<Shard>>, Vec<Names>) = Default::default();
        let mut counts: Vec<u16> = Vec::new();
        for range in &layout.ranges {
            let known = names.iter().position(|it| it.are_of(range));
            let index = known.unwrap_or_else(|| {
                let (shard, called) = old
                    .under_another_address(range, &layout)
                    .unwrap_or_else(|| old.named(range, &layout, shard_at(&range.master)));
                shards.push(shard);
                names.push(called);
                counts.push(0);
                shards.len() - 1
            });
            let Ok(owner) = u16::try_from(index) else {
                // There are no more masters than slots.
                continue;
            };
            for slot in &mut owners[usize::from(range.first)..=usize::from(range.last)] {
                counts[index] += u16::from(*slot == NONE);
                if *slot == NONE {
                    *slot = owner;
                }
            }
        }
        Self {
            owners,
            shards,
            names,
            counts,
            ids: layout.ids,
            replicas: layout.replicas,
        }
    }

    pub(super) fn owner(&self, slot: u16) -> Option<&Arc<Shard>> {
        let index = *self.owners.get(usize::from(slot))?;
        self.shards.get(usize::from(index))
    }

    /// The master with the address `server`.
    pub(super) fn shard_at(&self, server: &Server) -> Option<&Arc<Shard>> {
        let mut names = self.names.iter();
        let index = names.position(|names| names.addresses.contains(server))?;
        self.shards.get(index)
    }

    /// The link of the master with the id of `range`, if the link goes to another address than `layout`
    /// gives that master, and `layout` gives that address to no other master. Two links to one server
    /// would have two orders of operations.
    ///
    /// The server may have moved, and another server may have its address. In that case its connection
    /// broke.
    fn under_another_address(&self, range: &Range, layout: &Layout) -> Option<(Arc<Shard>, Names)> {
        let index = self.names.iter().position(|it| it.id == range.id)?;
        let (shard, names) = (&self.shards[index], &self.names[index]);
        let has_its_address = |other: &Range| other.master == shard.server;
        let is_free = range.id.is_some() && !layout.ranges.iter().any(has_its_address);
        // The first connection was made because the Cluster had just used the address.
        let is_the_same = shard.link.health().connections <= names.connections.max(1)
            && matches!(shard.link.inbox.status(), NodeStatus::Voting);
        (is_free && is_the_same).then(|| {
            let connections = names.connections;
            let names = names.and(range, layout, connections);
            (Arc::clone(shard), names)
        })
    }

    /// `shard`, which has the address of `range`.
    fn named(&self, range: &Range, layout: &Layout, shard: Arc<Shard>) -> (Arc<Shard>, Names) {
        let connections = shard.link.health().connections;
        let before = self
            .names
            .iter()
            .find(|it| range.id.is_some() && it.id == range.id);
        let none = Names {
            id: range.id.clone(),
            addresses: Vec::new(),
            connections,
        };
        let names = before.unwrap_or(&none).and(range, layout, connections);
        (shard, names)
    }

    pub(super) fn status(&self) -> NodeStatus {
        let (mut served, mut assigned) = (0, 0);
        let mut silent = Vec::new();
        for (shard, count) in self.shards.iter().zip(&self.counts) {
            assigned += count;
            match shard.link.inbox.status() {
                NodeStatus::Voting => served += count,
                NodeStatus::Abstaining(error) => silent.push((&shard.server, error)),
            }
        }
        if served == SLOTS {
            return NodeStatus::Voting;
        }
        let mut text = format!("{served} of {SLOTS} slots are served");
        for (server, error) in silent.iter().take(MOST_NAMED) {
            // Writing to a string does not fail.
            let _ = write!(text, "; {server}: {error}");
        }
        if assigned < SLOTS {
            let _ = write!(text, "; {} belong to no master", SLOTS - assigned);
        }
        let kinds = || silent.iter().map(|(_, error)| error.kind());
        // An error that no time heals comes first.
        let refused = kinds().find(|kind| *kind == NodeErrorKind::Refused);
        let kind = refused.or_else(|| kinds().next());
        NodeStatus::Abstaining(NodeError::unsent(
            kind.unwrap_or(NodeErrorKind::NotConnected),
            text,
        ))
    }
}

impl Names {
    fn are_of(&self, range: &Range) -> bool {
        self.addresses.contains(&range.master) || range.id.is_some() && self.id == range.id
    }

    /// These addresses and the one of `range`, without those of other masters in `layout`.
    fn and(&self, range: &Range, layout: &Layout, connections: u64) -> Self {
        let is_anothers = |address: &&Server| {
            let mut ranges = layout.ranges.iter();
            ranges.any(|other| other.master == **address && other.id != range.id)
        };
        let known = self.addresses.iter().filter(|it| **it != range.master);
        let known = known.filter(|it| !is_anothers(it)).take(MOST_ADDRESSES - 1);
        Self {
            id: range.id.clone(),
            addresses: [&range.master].into_iter().chain(known).cloned().collect(),
            connections,
        }
    }
}
