//! Counts errors in a row. After some of them, the status of a node is that it does not vote.

use tokio::time::Instant;

use crate::node::{Call, Effect, NodeError, NodeErrorKind};
use crate::redis::inbox::STREAK_COUNTS_FOR;

/// The number of errors in a row after which the status of a node is that it does not vote.
pub(super) const MANY_ERRORS: u32 = 3;

/// Counts the errors of acquisitions apart from those of releases, because a grant does not show that releases work.
#[derive(Default)]
pub(super) struct ErrorStreaks {
    votes: ErrorsInARow,
    releases: ErrorsInARow,
}

#[derive(Default)]
struct ErrorsInARow {
    errors: u32,
    last: Option<Instant>,
}

impl ErrorStreaks {
    /// Records that the server served `call`. Returns true if this ended a streak of many errors, and no other streak
    /// is left.
    pub(super) fn record_served(&mut self, call: &Call) -> bool {
        let (row, other) = match call.effect {
            Effect::Takes => (&mut self.votes, &self.releases),
            Effect::Undoes(_) => (&mut self.releases, &self.votes),
            _ => return false,
        };
        std::mem::take(row).errors >= MANY_ERRORS && other.errors < MANY_ERRORS
    }

    /// Counts an `error` that answered `call`. Returns the number of errors in a row, or 0 if the error concerns only
    /// this call.
    pub(super) fn record_error(&mut self, call: &Call, error: &NodeError, at: Instant) -> u32 {
        // A denied release of a plain lock counts, because such a user can release no lock at all.
        let is_denied = error.kind() == NodeErrorKind::Denied && call.batch_script.is_some();
        let (row, is_counted) = match call.effect {
            Effect::Takes | Effect::Keeps => (&mut self.votes, false),
            Effect::Undoes(_) => (&mut self.releases, is_denied),
            _ => return 0,
        };
        if !is_counted && !error.concerns_the_node() {
            return 0;
        }
        let last = row.last.replace(at);
        if last.is_some_and(|last| at.saturating_duration_since(last) >= STREAK_COUNTS_FOR) {
            row.errors = 0;
        }
        row.errors += 1;
        row.errors
    }
}
