//! Whether a server that is connected answers acquisitions with errors, one after the other.
//!
//! No vote depends on it: each acquisition is sent all the same. It shows whether the node votes.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::node::NodeError;

/// So many errors without a vote in between are no accident.
const IN_A_ROW: u32 = 3;

/// What a server answered longer ago says nothing of it any more. It is asked
/// [more often](super::serve) than that, where its user may be.
const REMEMBERED: Duration = Duration::from_secs(10);

/// The errors of one server since its last vote.
#[derive(Default)]
pub(super) struct Refusals {
    in_a_row: AtomicU32,
    last: Mutex<Option<(NodeError, Instant)>>,
}

impl Refusals {
    /// An error was the answer to what should have been a vote. Whether the server refuses from here
    /// on.
    pub(super) fn refused(&self, error: &NodeError, now: Instant) -> bool {
        let mut last = self.last.lock();
        let in_a_row = match &*last {
            Some((_, at)) if now.duration_since(*at) < REMEMBERED => self.in_a_row.load(Relaxed),
            _ => 0,
        };
        self.in_a_row.store(in_a_row.saturating_add(1), Relaxed);
        *last = Some((error.clone(), now));
        in_a_row + 1 == IN_A_ROW
    }

    /// It votes. Whether it refused before.
    pub(super) fn voted(&self) -> bool {
        // Nearly always there is nothing to forget.
        let in_a_row = self.in_a_row.load(Relaxed);
        if in_a_row > 0 {
            self.in_a_row.store(0, Relaxed);
            *self.last.lock() = None;
        }
        in_a_row >= IN_A_ROW
    }

    /// Why it does not vote, if it is known not to.
    pub(super) fn reason(&self, now: Instant) -> Option<NodeError> {
        if self.in_a_row.load(Relaxed) < IN_A_ROW {
            return None;
        }
        let last = self.last.lock();
        let recent = last
            .as_ref()
            .filter(|(_, at)| now.duration_since(*at) < REMEMBERED);
        recent.map(|(error, _)| error.clone())
    }
}
