//! Permits that callers of a process release while others of it wait for one.

use std::task::Waker;

use crate::env::timers::wake;
use crate::model::permits::PermitSet;

use super::line::Line;
use super::{LineKey, Lines, Turn};

impl Lines {
    /// A caller of this process has sent the release of some permits. The caller with the turn asks for them
    /// now, without a pause.
    pub(crate) fn permits_released(&self, line_key: &LineKey, permits: PermitSet) {
        let head = {
            let mut state = self.state.lock();
            let line = state.lines.get_mut(line_key);
            line.and_then(|line| line.permits_released(permits))
        };
        if let Some(head) = head {
            wake(head);
        }
    }
}

impl Turn {
    /// The permits that callers of this process released since the last attempt.
    pub(crate) fn take_released(&self) -> PermitSet {
        self.change(Line::take_released).unwrap_or_default()
    }
}

impl Line {
    /// Callers of this process released permits. Returns the waker of the caller with the turn, if it pauses.
    pub(super) fn permits_released(&mut self, permits: PermitSet) -> Option<Waker> {
        let waiters = self.waiters();
        waiters.released = waiters.released.and(permits);
        waiters.is_retry_wanted = true;
        waiters.head.take()
    }

    /// The permits that callers of this process released since the last attempt.
    pub(super) fn take_released(&mut self) -> PermitSet {
        let waiters = self.waiters.as_mut();
        waiters.map_or_else(PermitSet::default, |waiters| {
            std::mem::take(&mut waiters.released)
        })
    }
}
