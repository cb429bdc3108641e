//! What readers of one process ask of its lines.

use std::time::Duration;

use super::line::TurnStatus;
use super::{LineKey, Lines};

impl Lines {
    /// For how long callers may hand a lock over to each other, and readers may share a lease.
    pub(crate) fn longest_handover(&self) -> Duration {
        if self.handover.most == 0 {
            return Duration::ZERO;
        }
        self.handover.longest
    }

    /// True if a caller in the line of `line_key` tries to acquire the lock, or has it.
    pub(crate) fn is_in_use(&self, line_key: &LineKey) -> bool {
        let state = self.state.lock();
        let line = state.lines.get(line_key);
        line.is_some_and(|line| !matches!(line.status, TurnStatus::Idle(_)))
    }
}
