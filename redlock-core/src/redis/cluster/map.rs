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
    /// The number of slots of each shard.
    counts: Vec<u16>,
    /// The Cluster's own names of its masters.
    pub(super) ids: BTreeSet<String>,
    /// Replicas, which know the map too.
    pub(super) replicas: Vec<Server>,
}

impl SlotMap {
    /// Each master is the one of `old`, if its link may stay, or else comes from `start`.
    pub(super) fn of(
        layout: Layout,
        old: &Self,
        mut start: impl FnMut(&Range) -> Arc<Shard>,
    ) -> Self {
        let mut owners = vec![NONE; usize::from(SLOTS)].into_boxed_slice();
        let mut shards: Vec<Arc<Shard>> = Vec::new();
        let mut counts: Vec<u16> = Vec::new();
        for range in &layout.ranges {
            let known = shards.iter().position(|it| {
                it.server == range.master || range.id.is_some() && it.id == range.id
            });
            let index = known.unwrap_or_else(|| {
                let stays = |shard: &&Arc<Shard>| shard.may_stay(range, &layout);
                let before = old.shards.iter().find(stays).cloned();
                shards.push(before.unwrap_or_else(|| start(range)));
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
            counts,
            ids: layout.ids,
            replicas: layout.replicas,
        }
    }

    pub(super) fn owner(&self, slot: u16) -> Option<&Arc<Shard>> {
        let index = *self.owners.get(usize::from(slot))?;
        self.shards.get(usize::from(index))
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

impl Shard {
    /// True if the link goes to the master of `range` in `layout`. Servers of a Cluster may call a master by different
    /// addresses: some use a host name, and a seed uses the address at which it was asked. Two links to one server
    /// would have two orders of calls, so the link stays under its address while its first connection stands, which
    /// was made when the Cluster used that address. Later another server may have the address.
    fn may_stay(&self, range: &Range, layout: &Layout) -> bool {
        let has_its_address = |other: &Range| other.master == self.server;
        self.id == range.id
            && (has_its_address(range)
                || range.id.is_some()
                    && !layout.ranges.iter().any(has_its_address)
                    && self.link.health().connections <= 1
                    && matches!(self.link.inbox.status(), NodeStatus::Voting))
    }
}
