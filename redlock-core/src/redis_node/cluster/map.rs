//! Which master has which slot.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::node::{NodeError, NodeErrorKind, NodeStatus};
use crate::slot::SLOTS;

use super::super::address::Server;
use super::Shard;
use super::layout::Layout;

/// Nobody's slot.
const NONE: u16 = u16::MAX;

/// How many masters a status names.
const MOST_NAMED: usize = 3;

/// As one server of the Cluster told it last.
#[derive(Default)]
pub(super) struct Map {
    /// By slot, an index into `shards`. Empty before anything is known.
    owners: Box<[u16]>,
    pub(super) shards: Vec<Arc<Shard>>,
    /// How many slots each of them has.
    counts: Vec<u16>,
    /// The Cluster's own names of its masters.
    pub(super) ids: BTreeSet<String>,
    /// Replicas, which know the map too.
    pub(super) replicas: Vec<Server>,
}

impl Map {
    /// Each master comes from `shard_at`.
    pub(super) fn of(layout: Layout, mut shard_at: impl FnMut(&Server) -> Arc<Shard>) -> Self {
        let mut owners = vec![NONE; usize::from(SLOTS)].into_boxed_slice();
        let (mut shards, mut counts): (Vec<Arc<Shard>>, Vec<u16>) = Default::default();
        for range in &layout.ranges {
            let known = shards.iter().position(|it| it.server == range.master);
            let index = known.unwrap_or_else(|| {
                shards.push(shard_at(&range.master));
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

    pub(super) fn shard_at(&self, server: &Server) -> Option<&Arc<Shard>> {
        self.shards.iter().find(|shard| shard.server == *server)
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
            let _ = write!(text, "; {} are no master's", SLOTS - assigned);
        }
        let kinds = || silent.iter().map(|(_, error)| error.kind());
        // The one that no time heals.
        let refused = kinds().find(|kind| *kind == NodeErrorKind::Refused);
        let kind = refused.or_else(|| kinds().next());
        NodeStatus::Abstaining(NodeError::unsent(
            kind.unwrap_or(NodeErrorKind::NotConnected),
            text,
        ))
    }
}
