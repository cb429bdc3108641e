//! What the clients do.

use crate::attempts::bits;
use crate::search::Take;

use super::{Action, Extend, Extension, Kind, Phase, Promise, Sharing, State, Told, Vote, WATCHED};

impl<const NODES: usize, const ATTEMPTS: usize> Sharing<NODES, ATTEMPTS> {
    const MAJORITY: usize = NODES / 2 + 1;

    pub(super) fn client_steps(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        match state.attempts[a].phase {
            Phase::Idle => self.start(state, a, to),
            Phase::Trying => {
                self.win(state, a, to);
                self.end(state, a, to);
            }
            Phase::Held => {
                self.extend(state, a, to);
                self.end(state, a, to);
            }
            Phase::Over => {}
        }
    }

    /// True if `a` shares with other readers.
    pub(super) fn is_reader(&self, a: usize) -> bool {
        self.kinds[a] == Kind::Reader
    }

    /// The attempts whose leases are valid: a bit for each.
    pub(super) fn held(state: &State<NODES, ATTEMPTS>) -> u8 {
        bits(ATTEMPTS, |a| state.attempts[a].phase == Phase::Held)
    }

    /// Attempts of one kind are alike, so they start in the order of their names.
    fn start(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let mut alike = (0..a).filter(|b| self.kinds[*b] == self.kinds[a]);
        if alike.any(|b| state.attempts[b].phase == Phase::Idle) {
            return;
        }
        let mut next = *state;
        next.attempts[a].phase = Phase::Trying;
        let is_beside = state.attempts[WATCHED].phase == Phase::Held;
        next.attempts[a].began_beside = is_beside && self.promise == Promise::NobodyBetween;
        to(Action::Start(a), next);
    }

    fn win(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let cells = state.columns.iter().map(|column| column.cells[a]);
        let grants = cells.filter(|cell| cell.vote == Vote::Granted).count();
        if grants < Self::MAJORITY {
            return;
        }
        let mut next = *state;
        next.attempts[a].phase = Phase::Held;
        if self.extension != Extension::Never && a == WATCHED {
            for column in &mut next.columns {
                let cell = &mut column.cells[a];
                cell.counts = cell.vote == Vote::Granted;
            }
        }
        let is_asked = state.columns[0].cells[WATCHED].extend != Extend::Unasked;
        let is_excluded = !self.is_reader(a) || !self.is_reader(WATCHED);
        if state.attempts[a].began_beside && is_excluded && !is_asked {
            next.is_intruded = true;
        }
        to(Action::Hold(a), next);
    }

    fn extend(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        if self.extension == Extension::Never || a != WATCHED {
            return;
        }
        let cells = || state.columns.iter().map(|column| column.cells[a]);
        if cells().all(|cell| cell.extend == Extend::Unasked) {
            let mut next = *state;
            for column in &mut next.columns {
                column.cells[a].extend = Extend::Underway;
            }
            to(Action::Extend(a), next);
        }
        let granted = cells().filter(|cell| cell.counts && cell.extend == Extend::Granted);
        if !state.is_extended && granted.count() >= Self::MAJORITY {
            let mut next = *state;
            next.is_extended = true;
            to(Action::Proved(a), next);
        }
    }

    fn end(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let mut next = *state;
        next.attempts[a].phase = Phase::Over;
        if self.promise == Promise::NothingLeft {
            for column in &mut next.columns {
                column.cells[a].release = Told::Underway;
            }
        }
        to(Action::End(a), next);
    }
}
