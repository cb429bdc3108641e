//! The end of an attempt, and how its keys go: by a release, an expiry or a restart.

use crate::attempts::owner_of;
use crate::search::Take;

use super::state::{Age, Awaited, Possession};
use super::{
    Action, Column, Decision, Exclusion, Extend, Extension, Keys, Owner, Phase, Release,
    RestartCheck, Standing, State,
};

impl<const NODES: usize, const ATTEMPTS: usize> Exclusion<NODES, ATTEMPTS> {
    /// The deadline, a failure, or the end of the body.
    pub(super) fn end(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let mut next = self.ended(state, a);
        if self.release_matters() {
            for column in &mut next.columns {
                column.cells[a].release = true;
            }
        }
        to(Action::End(a), next);
    }

    /// Returns what `a` and its keys are once it is over.
    pub(super) fn ended(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> State<NODES, ATTEMPTS> {
        let mut next = *state;
        let attempt = &mut next.attempts[a];
        attempt.phase = Phase::Over;
        attempt.extending = false;
        attempt.is_late = false;
        attempt.on_late_key = false;
        attempt.between = 0;
        attempt.possession = Possession::Whole;
        for column in &mut next.columns {
            if column.is_of(a) {
                column.age = Age::Old;
            }
            let cell = &mut column.cells[a];
            cell.awaited = Awaited::No;
            cell.standing = Standing::Out;
            // To prolong a key of an attempt that is over changes nothing.
            if self.extension == Extension::Compare {
                cell.extend = Extend::Unsent;
            }
        }
        next
    }

    /// A release in time does what an expiry does, which may come as soon as the lease is over.
    pub(super) fn release_matters(&self) -> bool {
        self.owner == Owner::EachClient
            || matches!(self.release, Release::PlainDelete | Release::UnderTheBody)
    }

    pub(super) fn release(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let same_token = self.holds_token_of(column, a);
        let mut next = *state;
        next.columns[n].cells[a].release = false;
        if same_token || self.release == Release::PlainDelete {
            next.columns[n].clear();
        }
        to(Action::Release(a, n), next);
    }

    /// True if the key at a node has the token of `a`.
    pub(super) fn holds_token_of(&self, column: &Column<ATTEMPTS>, a: usize) -> bool {
        let is_one_token = self.owner == Owner::EachClient;
        let is_shared = is_one_token && a < 2 && (column.is_of(0) || column.is_of(1));
        is_shared || column.is_of(a)
    }

    pub(super) fn losses(
        &self,
        state: &State<NODES, ATTEMPTS>,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let Some(owner) = owner_of(column.key) else {
            return;
        };
        let is_lost = match self.keys {
            Keys::Timed => false,
            Keys::Lost => true,
            Keys::LostLater => state.attempts[owner].is_late,
        };
        let may_vanish = is_lost
            || match state.attempts[owner].phase {
                Phase::Over => true,
                Phase::Trying => self.decision == Decision::AnyTime,
                Phase::Valid => column.age == Age::Old,
                Phase::Idle => false,
            };
        if may_vanish {
            let mut next = *state;
            next.columns[n].clear();
            to(Action::Vanish(owner, n), next);
        }
        if state.restarts < self.restarts {
            let mut next = *state;
            next.restarts += 1;
            next.columns[n].clear();
            for (cell, attempt) in next.columns[n].cells.iter_mut().zip(&state.attempts) {
                let has_begun = matches!(attempt.phase, Phase::Trying | Phase::Valid);
                if self.restart_check != RestartCheck::Off && has_begun {
                    cell.awaited = Awaited::Yes;
                }
            }
            to(Action::Restart(n), next);
        }
    }
}
