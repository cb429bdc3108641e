//! The rules about single operations: what a node may do for a client.

use redlock_core::node::{OwnerToken, Want};

use super::Broken;
use crate::history::{History, Invariant, Served};

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
                Want::Acquire { .. } | Want::AcquirePermits { .. } | Want::Restore { .. } => {
                    // A successor takes keys over, and sets no others.
                    let giver = operation.giver().map(OwnerToken::as_bytes);
                    (
                        Invariant::ForeignChange,
                        before.as_deref() == giver && is_ours,
                    )
                }
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
}
