//! Of several locks that are alike, those that callers of a process release while others of it wait for one.

use std::collections::BTreeSet;
use std::task::Waker;

use crate::env::caught::wake;

use super::line::Line;
use super::{LineKey, Lines, Turn};

impl Lines {
    /// A caller of this process has sent the release of the lock with this number. The caller with the turn asks for it now,
    /// without a pause.
    pub(crate) fn released(&self, line_key: &LineKey, number: u16) {
        let head = {
            let mut state = self.state.lock();
            let line = state.lines.get_mut(line_key);
            line.and_then(|line| line.released(number))
        };
        if let Some(head) = head {
            wake(head);
        }
    }
}

impl Turn {
    /// The numbers of the locks that callers of this process released since the last attempt.
    pub(crate) fn take_released(&self) -> BTreeSet<u16> {
        self.change(Line::take_released).unwrap_or_default()
    }
}

impl Line {
    /// A caller of this process released the lock with this number. Returns the waker of the caller with the turn, if it pauses.
    pub(super) fn released(&mut self, number: u16) -> Option<Waker> {
        let waiters = self.waiters();
        waiters.released.insert(number);
        waiters.is_retry_wanted = true;
        waiters.head.take()
    }

    /// The numbers of the locks that callers of this process released since the last attempt.
    pub(super) fn take_released(&mut self) -> BTreeSet<u16> {
        let waiters = self.waiters.as_mut();
        let released = waiters.map(|waiters| std::mem::take(&mut waiters.released));
        released.unwrap_or_default()
    }
}
