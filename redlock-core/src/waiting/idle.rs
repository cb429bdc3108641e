//! Lines without callers, which are kept for a moment.

use std::sync::Arc;

use crate::env::Moment;
use crate::env::sweep::sweep;

use super::line::{Line, TurnStatus};
use super::{LineKey, Lines, LinesState};

impl LinesState {
    /// Forgets the lines whose moment has passed. Returns what the caller drops once the lines are unlocked.
    pub(super) fn forget_idle(&mut self, now: Moment) -> Vec<(LineKey, Option<(LineKey, Line)>)> {
        let mut forgotten = Vec::new();
        while self.idle.front().is_some_and(|(until, _)| *until <= now) {
            let Some((until, key)) = self.idle.pop_front() else {
                break;
            };
            // The line may be in use again.
            let is_idle =
                |line: &Line| matches!(&line.status, TurnStatus::Idle(idle) if idle.until == until);
            let is_idle = self.lines.get(&key).is_some_and(is_idle);
            let line = is_idle.then(|| self.lines.remove_entry(&key)).flatten();
            forgotten.push((key, line));
        }
        forgotten
    }
}

impl Lines {
    /// Starts a task that forgets idle lines in time: the key of an idle line keeps nodes alive.
    pub(super) fn sweep(self: &Arc<Self>) {
        let lines = Arc::downgrade(self);
        sweep(&self.context.environment, move |now| {
            lines.upgrade().is_some_and(|lines| lines.forget(now))
        });
    }

    /// True if there are idle lines left.
    fn forget(&self, now: Moment) -> bool {
        // Dropped outside of the mutex: it may hold the last reference to a node.
        let _forgotten;
        let mut state = self.state.lock();
        _forgotten = state.forget_idle(now);
        state.is_swept = !state.idle.is_empty();
        state.is_swept
    }
}
