//! Clocks that are wrong until they are mended, and counters that idle away.

use crate::attempts::bits;
use crate::search::Take;

use super::{Action, Clocks, Expiry, Fencing, Hints, Most, Phase, Say, State};

impl<const NODES: usize, const ATTEMPTS: usize> Fencing<NODES, ATTEMPTS> {
    /// What a right clock shows when `attempt` starts, where attempts are so far apart.
    pub(super) fn time(apart: u8, attempt: usize) -> u8 {
        apart * (u8::try_from(attempt).unwrap_or(0) + 1)
    }

    /// The attempts that have begun. A bit for each.
    pub(super) fn begun(state: &State<NODES, ATTEMPTS>) -> u8 {
        bits(ATTEMPTS, |a| state.attempts[a].phase != Phase::Idle)
    }

    /// What most clocks show.
    pub(super) fn most(&self, state: &State<NODES, ATTEMPTS>) -> Most {
        if self.clocks == Clocks::Right {
            return Most::Right;
        }
        let ahead = state.columns.iter().filter(|it| it.is_ahead).count();
        if ahead > NODES / 2 {
            Most::Ahead
        } else if NODES - ahead > NODES / 2 {
            Most::Right
        } else {
            Most::Disagree
        }
    }

    /// How far the time of `a`, as `n` sees it, is ahead of `n`; `None` if `n` does not vote.
    pub(super) fn shift(&self, state: &State<NODES, ATTEMPTS>, a: usize, n: usize) -> Option<u8> {
        let Clocks::Ahead { by, say, .. } = self.clocks else {
            return Some(0);
        };
        let is_ahead = state.columns[n].is_ahead;
        let has_say = match state.attempts[a].most {
            _ if say == Say::OfEach => true,
            Most::Right => !is_ahead,
            Most::Ahead => is_ahead,
            Most::Disagree => false,
        };
        has_say.then_some(if is_ahead { by } else { 0 })
    }

    pub(super) fn mend(state: &State<NODES, ATTEMPTS>, n: usize, to: &mut impl Take<Self>) {
        if state.columns[n].is_ahead {
            let mut next = *state;
            next.columns[n].is_ahead = false;
            to(Action::Mend(n), next);
        }
    }

    pub(super) fn expire(
        &self,
        state: &State<NODES, ATTEMPTS>,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let (column, begun) = (&state.columns[n], Self::begun(state));
        let (Hints::Clock(apart), Clocks::Ahead { by, .. }) = (self.hints, self.clocks) else {
            return;
        };
        // Whoever comes next has this hint.
        let time = Self::time(apart, begun.count_ones() as usize);
        let shown = if column.is_ahead { time + by } else { time };
        let may = match self.expiry {
            Expiry::Never => false,
            Expiry::Passed => column.counter < time,
            Expiry::PassedByItsOwnClock => column.counter < shown,
            Expiry::Idle => true,
        };
        if may && column.key == 0 && column.counter != 0 {
            let mut next = *state;
            next.columns[n].counter = 0;
            next.columns[n].refuses = begun;
            to(Action::Expire(n), next);
        }
    }
}
