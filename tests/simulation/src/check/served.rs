//! The rules about single operations: what a client may submit, and what a node may do for it.

use redlock_core::{Operation, OwnerToken, Want};

use super::Broken;
use crate::history::{History, Invariant, LeaseRecord, Served};
use crate::world::ProcessId;

impl History {
    /// What an operation may do to keys and counters.
    pub(crate) fn check_served(served: &Served<'_>) -> Broken {
        let (operation, seat) = (served.operation, served.seat);
        let token = operation.token().as_bytes();
        let (id, want) = (operation.token().short_id(), operation.want());
        let mut broken = Broken::new();
        for (before, after) in served.before.iter().zip(&served.after) {
            if before == after {
                continue;
            }
            let was_ours = before.as_deref() == Some(token);
            let is_ours = after.as_deref() == Some(token);
            let (invariant, may) = match want {
                Want::Acquire { .. } => {
                    let gives_way = operation.predecessor().map(OwnerToken::as_bytes);
                    let was_free = before.is_none() || before.as_deref() == gives_way;
                    (Invariant::ForeignChange, was_free && is_ours)
                }
                Want::Restore { .. } => (Invariant::ForeignChange, before.is_none() && is_ours),
                Want::Release { .. } => (Invariant::ForeignRelease, was_ours && after.is_none()),
                _ => (Invariant::ForeignChange, false),
            };
            if !may {
                let text = format!("n{seat} changed a key that is not {id}'s, for {want:?}");
                broken.push((invariant, text));
            }
        }
        let lowered = served.counted.iter().zip(&served.counts);
        if lowered.clone().any(|(before, after)| after < before) || served.is_shortened {
            let text = format!("n{seat} lowered a counter or a time to live, for {id} {want:?}");
            broken.push((Invariant::ForeignChange, text));
        }
        broken
    }

    /// Nobody holds a lock any more that gives way to an acquisition.
    pub(crate) fn check_predecessor(
        &self,
        process: ProcessId,
        operation: &Operation,
    ) -> Option<(Invariant, String)> {
        let predecessor = operation.predecessor()?;
        let handles: Vec<_> = {
            let inner = self.lock();
            let is_its = |lease: &&LeaseRecord| {
                *inner.attempts[lease.attempt].token == *predecessor.as_bytes()
            };
            let leases = inner.leases.iter().filter(is_its);
            leases.map(|lease| lease.handle.clone()).collect()
        };
        let mut handles = handles.iter();
        let is_held = handles.any(|handle| self.world.observing(|| handle.over().is_none()));
        is_held.then(|| {
            let (id, before) = (operation.token().short_id(), predecessor.short_id());
            let text = format!("c{process} has {id} succeed {before}, which is still held");
            (Invariant::HandedOverAlive, text)
        })
    }
}
