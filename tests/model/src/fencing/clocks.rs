//! Clocks that are wrong until they are mended, and counters that idle away.

use crate::attempts::bits;
use crate::search::Take;

use super::{Action, Clocks, Expiry, Fencing, Hints, Phase, State};

impl<const NODES: usize, const ATTEMPTS: usize> Fencing<NODES, ATTEMPTS> {
    /// Returns the hint of a right clock when `attempt` starts, or 0 without clocks.
    pub(super) fn time(hints: Hints, attempt: usize) -> u8 {
        match hints {
            Hints::Clock(apart) | Hints::Asked(apart, _) => {
                apart * (u8::try_from(attempt).unwrap_or(0) + 1)
            }
            Hints::None | Hints::Any(_) => 0,
        }
    }

    /// Returns the attempts that have begun. A bit for each.
    pub(super) fn begun(state: &State<NODES, ATTEMPTS>) -> u8 {
        bits(ATTEMPTS, |a| state.attempts[a].phase != Phase::Idle)
    }

    /// Returns how far `n` raises a hint to bring it to its own clock.
    pub(super) fn shift(&self, state: &State<NODES, ATTEMPTS>, n: usize) -> u8 {
        match self.clocks {
            Clocks::Ahead { by, .. } if state.columns[n].is_ahead => by,
            _ => 0,
        }
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
        let (Hints::Clock(_), Clocks::Ahead { .. }) = (self.hints, self.clocks) else {
            return;
        };
        // Whoever comes next has this hint.
        let time = Self::time(self.hints, begun.count_ones() as usize);
        let may = match self.expiry {
            Expiry::Never => false,
            Expiry::Passed => column.counter < time,
            Expiry::Idle => true,
        };
        if may && column.keys == 0 && column.counter != 0 {
            let mut next = *state;
            next.columns[n].counter = 0;
            next.columns[n].refuses = begun;
            to(Action::Expire(n), next);
        }
    }
}
