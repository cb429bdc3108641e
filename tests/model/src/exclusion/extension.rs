//! Extension, and the restoring of keys that are missing.

use crate::attempts::{bits, has};
use crate::search::Take;

use super::state::{Age, Attempt, Awaited, Possession};
use super::{
    Acquire, Action, Counting, Exclusion, Extend, Extension, Phase, Promise, RestartCheck,
    Restoring, Standing, State,
};

impl<const NODES: usize, const ATTEMPTS: usize> Exclusion<NODES, ATTEMPTS> {
    pub(super) fn extend(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        let attempt = &state.attempts[a];
        if attempt.rounds < self.rounds && self.is_watched(a) {
            self.begin_round(state, a, to);
        }
        if attempt.extending {
            self.win(state, a, to);
        } else if attempt.won == attempt.rounds && attempt.won > 0 {
            self.send_restores(state, a, to);
        }
    }

    /// A round that is still open is given up for it.
    fn begin_round(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let mut next = *state;
        next.attempts[a].rounds += 1;
        next.attempts[a].extending = true;
        if state.attempts[a].possession == Possession::Broken {
            next.attempts[a].possession = Possession::BrokenBeforeRound;
        }
        if self.promise == Promise::NobodyBetween {
            let is_between = |one: &Attempt| one.succeeded && has(one.after, a);
            next.attempts[a].between = bits(ATTEMPTS, |b| is_between(&state.attempts[b]));
        }
        for column in next.keys_of(a) {
            column.age = column.age.min(Age::Current);
        }
        for column in &mut next.columns {
            let cell = &mut column.cells[a];
            let is_found = std::mem::replace(&mut cell.extend, Extend::Underway) == Extend::Yes;
            if is_found && cell.standing != Standing::Firm && self.is_about_answers() {
                cell.standing = match self.counting {
                    Counting::FoundOnce => Standing::Firm,
                    _ => Standing::Waiting,
                };
            }
            if cell.awaited == Awaited::Yes {
                cell.awaited = Awaited::Extending;
            }
        }
        to(Action::BeginRound(a), next);
    }

    pub(super) fn prolong(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let attempt = &state.attempts[a];
        let mut next = *state;
        let succeeds = match self.extension {
            Extension::Compare => column.is_of(a),
            Extension::Overwrite => true,
            Extension::Recreate => column.is_of(a) || column.key == 0,
        };
        if succeeds {
            let age = match attempt.phase {
                Phase::Valid if attempt.extending => Age::Ahead,
                Phase::Valid => Age::Current,
                _ => Age::Old,
            };
            if column.is_of(a) {
                next.columns[n].age = age;
            } else {
                next.columns[n].set(a, age);
            }
            next.columns[n].cells[a].extend = Extend::Yes;
            to(Action::Prolong(a, n), next);
        } else if self.restoring != Restoring::Never {
            next.columns[n].cells[a].extend = Extend::No;
            to(Action::DoNotProlong(a, n), next);
        }
    }

    fn win(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let is_continuous =
            |standing| self.counting == Counting::EveryYes || standing == Standing::Firm;
        let counted = state.columns.iter().filter(|column| {
            let cell = &column.cells[a];
            cell.extend == Extend::Yes && is_continuous(cell.standing)
        });
        if counted.clone().count() <= NODES / 2 {
            return;
        }
        let mut next = *state;
        let attempt = &mut next.attempts[a];
        attempt.extending = false;
        attempt.won = attempt.rounds;
        if attempt.between != 0 || attempt.possession == Possession::BrokenBeforeRound {
            attempt.possession = Possession::Unnoticed;
        }
        attempt.on_late_key = counted.clone().any(|column| column.restored);
        for column in next.keys_of(a) {
            column.age = match column.age {
                Age::Old | Age::Current => Age::Old,
                Age::Ahead => Age::Current,
            };
        }
        for column in &mut next.columns {
            let cell = &mut column.cells[a];
            if cell.standing == Standing::Waiting {
                cell.standing = Standing::Firm;
            }
            if cell.awaited == Awaited::Extending {
                cell.awaited = Awaited::No;
            }
        }
        to(Action::Win(a), next);
    }

    /// To nodes that said no in the round that was won.
    fn send_restores(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        for n in 0..NODES {
            let cell = &state.columns[n].cells[a];
            let unanswered = cell.acquire == Acquire::Underway
                || cell.restores != 0
                || cell.standing == Standing::Unanswered;
            let may = match self.restoring {
                Restoring::Never => false,
                Restoring::Freely => true,
                Restoring::OneAtATime => !unanswered,
            };
            if may && cell.extend == Extend::No {
                let mut next = *state;
                let cell = &mut next.columns[n].cells[a];
                cell.restores |= 1 << state.attempts[a].won;
                cell.extend = Extend::Unsent;
                cell.standing = Standing::Out;
                to(Action::SendRestore(a, n), next);
            }
        }
    }

    /// `SET NX`, at any time after it was sent.
    pub(super) fn restore(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let attempt = &state.attempts[a];
        for round in (1..=self.rounds).filter(|round| column.cells[a].restores >> round & 1 == 1) {
            let mut next = *state;
            next.columns[n].cells[a].restores &= !(1 << round);
            if column.key != 0 || self.restart_check == RestartCheck::On && column.waits() {
                to(Action::DoNotRestore(a, n), next);
                continue;
            }
            let is_current = attempt.phase == Phase::Valid && round == attempt.won;
            let age = if is_current { Age::Current } else { Age::Old };
            next.columns[n].set(a, age);
            next.columns[n].restored = true;
            let standing = state.columns[n].cells[a].standing;
            if attempt.phase == Phase::Valid {
                next.columns[n].cells[a].standing = match self.counting {
                    Counting::NoStragglers => Standing::Firm,
                    Counting::EveryYes
                    | Counting::Continuous
                    | Counting::FoundOnce
                    | Counting::AnyStraggler => Standing::Out,
                };
            }
            to(Action::Restore(a, n), next);
            if attempt.phase == Phase::Valid && self.is_about_answers() {
                next.columns[n].cells[a].standing = self.without_answer(standing);
                to(Action::Restore(a, n), next);
            }
        }
    }
}
