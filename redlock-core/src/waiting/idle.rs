//! Lines without callers, which are kept for a moment.

use crate::env::Moment;
use crate::env::sweep::Keeps;

use super::line::{Line, TurnStatus};
use super::table::LinePlace;
use super::{LineKey, Lines, LinesState};

/// How many idle lines are remembered at most.
pub(super) const MOST_IDLE: usize = 1024;

impl LinesState {
    /// Keeps a line without callers for a moment. Returns the line that is forgotten to make room for
    /// it, if there is one. The caller drops it once the lines are unlocked.
    pub(super) fn keep_idle(&mut self, until: Moment, place: LinePlace) -> Option<(LineKey, Line)> {
        let forgotten = if self.idle.len() == MOST_IDLE {
            self.forget_first_idle()
        } else {
            None
        };
        self.idle.push_back((until, place));
        forgotten
    }

    pub(super) fn forget_idle(&mut self, now: Moment) -> Vec<(LineKey, Line)> {
        let mut forgotten = Vec::new();
        while self.idle.front().is_some_and(|(until, _)| *until <= now) {
            forgotten.extend(self.forget_first_idle());
        }
        forgotten
    }

    fn forget_first_idle(&mut self) -> Option<(LineKey, Line)> {
        let (until, place) = self.idle.pop_front()?;
        // The line may be in use again, or its place may.
        let line = self.lines.at(place)?;
        let is_idle = matches!(&line.status, TurnStatus::Idle(idle) if idle.until == until);
        is_idle.then(|| self.lines.remove(place)).flatten()
    }
}

/// The key of an idle line keeps nodes alive.
impl Keeps for Lines {
    fn forget(&self, now: Moment) -> bool {
        // Dropped outside of the mutex: it may hold the last reference to a node.
        let _forgotten;
        let mut state = self.state.lock();
        _forgotten = state.forget_idle(now);
        state.is_swept = !state.idle.is_empty();
        state.is_swept
    }
}
