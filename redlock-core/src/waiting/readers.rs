//! What readers of one process ask of its lines.

use std::time::Duration;

use super::line::TurnStatus;
use super::{LineKey, Lines};

impl Lines {
    /// For how long readers may share a lease that was acquired: a fifth of the time for which callers may
    /// hand a lock over to each other. A writer of another process waits for all that share it.
    pub(crate) fn longest_share(&self) -> Duration {
        if self.handover.most == 0 {
            return Duration::ZERO;
        }
        self.handover.longest / 5
    }

    /// True if a caller in the line of `line_key` tries to acquire the lock, or has it.
    pub(crate) fn is_in_use(&self, line_key: &LineKey) -> bool {
        let state = self.state.lock();
        let line = state.lines.get(line_key);
        line.is_some_and(|line| !matches!(line.status, TurnStatus::Idle(_)))
    }
}
