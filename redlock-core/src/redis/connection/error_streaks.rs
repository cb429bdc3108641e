//! Counts errors in a row. After several of them, the status of a node is `Abstaining`.

use tokio::time::Instant;

use crate::node::{Call, Effect, NodeError, NodeErrorKind};
use crate::redis::inbox::STREAK_COUNTS_FOR;

/// The number of errors in a row from which a node's status is `Abstaining`.
pub(super) const MANY_ERRORS: u32 = 3;

/// Counts errors of acquisitions and of releases separately, because either may fail alone.
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
    /// Records that the server served `call`. Returns true if this ended the last streak of many errors.
    pub(super) fn record_served(&mut self, call: &Call) -> bool {
        let (row, other) = match call.effect {
            Effect::Takes => (&mut self.votes, &self.releases),
            Effect::Undoes(_) => (&mut self.releases, &self.votes),
            _ => return false,
        };
        std::mem::take(row).errors >= MANY_ERRORS && other.errors < MANY_ERRORS
    }

    /// Counts an `error` in answer to `call`. Returns the errors in a row, or 0 if the error concerns only the call.
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
