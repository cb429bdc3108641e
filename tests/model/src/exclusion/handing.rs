//! How a lease goes from one holder to the next as it is.

use crate::search::Take;

use super::state::Age;
use super::{Action, Exclusion, Handing, Phase, State};

impl<const NODES: usize, const ATTEMPTS: usize> Exclusion<NODES, ATTEMPTS> {
    /// Another holder has the lease of `a` from here on.
    pub(super) fn take_over(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        if self.handing == Handing::Never || state.attempts[a].is_passed_on {
            return;
        }
        let mut next = *state;
        next.attempts[a].is_passed_on = true;
        if self.handing == Handing::DeadlineRestarted {
            for column in next.keys_of(a) {
                column.age = Age::Old;
            }
        }
        if self.handing == Handing::ReleasedAllTheSame {
            for column in &mut next.columns {
                column.cells[a].release = true;
            }
        }
        to(Action::TakeOver(a), next);
    }

    pub(super) fn take_over_late(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        let attempt = &state.attempts[a];
        if self.handing != Handing::TakenOverLate || !attempt.succeeded || attempt.is_passed_on {
            return;
        }
        let mut next = *state;
        next.attempts[a].is_passed_on = true;
        next.attempts[a].phase = Phase::Valid;
        to(Action::TakeOver(a), next);
    }
}
