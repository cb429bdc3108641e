//! Recognizes a connected server that answers acquisitions with errors, one after the other.
//!
//! No vote depends on it: each acquisition is still sent. It decides whether the node is shown as
//! voting.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::node::NodeError;

/// After this many errors in a row the node counts as failing.
const IN_A_ROW: u32 = 3;

/// The time for which an error counts.
const REMEMBERED: Duration = Duration::from_secs(10);

/// The errors of one server since its last vote.
#[derive(Default)]
pub(in crate::redis) struct Refusals {
    in_a_row: AtomicU32,
    last: Mutex<Option<(NodeError, Instant)>>,
}

impl Refusals {
    /// Records an error in the place of a vote. True if the server counts as refusing from now on.
    pub(in crate::redis) fn refused(&self, error: &NodeError, now: Instant) -> bool {
        let before = self.last.lock().replace((error.clone(), now));
        if before.is_none_or(|(_, at)| now.duration_since(at) >= REMEMBERED) {
            self.in_a_row.store(0, Relaxed);
        }
        self.in_a_row.fetch_add(1, Relaxed) + 1 == IN_A_ROW
    }

    /// Records a vote. True if the server counted as refusing before.
    pub(in crate::redis) fn voted(&self) -> bool {
        // Usually there is nothing to reset, and nothing is written.
        self.in_a_row.load(Relaxed) > 0 && self.in_a_row.swap(0, Relaxed) >= IN_A_ROW
    }

    /// The reason why the server does not vote, if it counts as refusing.
    pub(in crate::redis) fn reason(&self, now: Instant) -> Option<NodeError> {
        let last = self.last.lock();
        let (error, at) = last.as_ref()?;
        let is_refusing = self.in_a_row.load(Relaxed) >= IN_A_ROW;
        (is_refusing && now.duration_since(*at) < REMEMBERED).then(|| error.clone())
    }
}
