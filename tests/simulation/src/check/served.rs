//! The rules about single operations: what a node may do for a client.

use crate::operation::Want;
use redlock_core::node::READERS_MARKER;
use redlock_core::request::Kind;

use super::Broken;
use crate::history::{History, Invariant, Served};

impl History {
    /// Returns what an operation may do to keys and counters.
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
                _ if operation.sharing().is_some() => {
                    let may = may_change(served, before.as_deref(), after.as_deref());
                    (Invariant::ForeignChange, may)
                }
                Want::Acquire { .. } | Want::Restore { .. } => {
                    (Invariant::ForeignChange, before.is_none() && is_ours)
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

/// True if an operation of a reader or a writer may turn `before` into `after`.
fn may_change(served: &Served<'_>, before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let token = served.operation.token().as_bytes();
    let is_reading = served.operation.sharing() == Some(Kind::Read);
    let is_marker = |value: Option<&[u8]>| value == Some(READERS_MARKER);
    let is_ours = |value: Option<&[u8]>| value == Some(token);
    let is_taken = if is_reading {
        is_marker(after)
    } else {
        is_ours(after)
    };
    match served.operation.want() {
        Want::Acquire { .. } => (before.is_none() || is_marker(before)) && is_taken,
        Want::Restore { .. } => before.is_none() && is_taken,
        Want::Release { .. } => (is_ours(before) || is_marker(before)) && after.is_none(),
        _ => false,
    }
}
