//! What clients do, and what happens at the nodes.

use crate::attempts::{key_of, owner_of};
use crate::search::Take;

use super::{Action, Claim, GIVER, Giving, Phase, Role, State, Transfer, Vote};

impl<const NODES: usize, const ATTEMPTS: usize> Transfer<NODES, ATTEMPTS> {
    pub(super) fn client_steps(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        let mut go = |action, phase, releases| {
            let mut next = *state;
            next.attempts[a] = phase;
            next.has_won[a] |= phase == Phase::Valid;
            for column in &mut next.columns {
                column.releases[a] |= releases;
            }
            to(action, next);
        };
        match state.attempts[a] {
            Phase::Idle if self.may_start(state, a) => go(Action::Start(a), Phase::Trying, false),
            Phase::Idle | Phase::Over => {}
            Phase::Trying => {
                let granted = state.columns.iter();
                let granted = granted.filter(|column| column.votes[a] == Vote::Granted);
                if granted.count() > NODES / 2 {
                    go(Action::Win(a), Phase::Valid, false);
                }
                go(Action::GiveUp(a), Phase::Over, true);
            }
            Phase::Valid if a == GIVER => {
                go(Action::GiveAway, Phase::Over, false);
                if self.puts_back && !state.has_put_back {
                    let mut next = *state;
                    next.has_put_back = true;
                    for column in &mut next.columns {
                        column.puts_back = true;
                    }
                    to(Action::PutBack, next);
                }
            }
            Phase::Valid => go(Action::End(a), Phase::Over, true),
        }
    }

    fn may_start(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> bool {
        let role = self.roles[a];
        let has_ticket = match (state.attempts[GIVER], self.giving) {
            (Phase::Over, _) => state.has_won[GIVER],
            (Phase::Valid, Giving::WhileValid) => true,
            _ => false,
        };
        // Attempts of one role are alike, so they start in the order of their names.
        let mut earlier = (0..a).filter(|b| self.roles[*b] == role);
        (role != Role::Claimer || has_ticket) && earlier.all(|b| state.attempts[b] != Phase::Idle)
    }

    pub(super) fn deliveries(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        if state.attempts[a] != Phase::Idle && column.votes[a] == Vote::Underway {
            let mut next = *state;
            let there = &mut next.columns[n];
            let is_granted = match (self.roles[a], self.claim) {
                (Role::Claimer, Claim::Overwrites) => true,
                (Role::Claimer, _) => column.has_key_of(GIVER),
                (Role::Giver | Role::Other, _) => column.key == 0,
            };
            let keeps = self.roles[a] == Role::Claimer && self.claim == Claim::KeepsToken;
            if is_granted && !keeps {
                there.key = key_of(a);
            }
            there.votes[a] = if is_granted {
                Vote::Granted
            } else {
                Vote::Refused
            };
            let action = if is_granted {
                Action::Grant(a, n)
            } else {
                Action::Refuse(a, n)
            };
            to(action, next);
        }
        if column.releases[a] {
            let mut next = *state;
            let there = &mut next.columns[n];
            there.releases[a] = false;
            if column.has_key_of(a) {
                there.key = 0;
            }
            to(Action::Release(a, n), next);
        }
    }

    pub(super) fn losses(
        &self,
        state: &State<NODES, ATTEMPTS>,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        if column.puts_back {
            let mut next = *state;
            next.columns[n].puts_back = false;
            if column.key == 0 {
                next.columns[n].key = key_of(GIVER);
            }
            to(Action::IsPutBack(n), next);
        }
        let is_over = owner_of(column.key).is_some_and(|a| state.attempts[a] == Phase::Over);
        // A claimer that keeps the giver's token prolongs the giver's key.
        let is_kept =
            self.claim == Claim::KeepsToken && state.attempts[1..].contains(&Phase::Valid);
        if is_over && !is_kept {
            let mut next = *state;
            next.columns[n].key = 0;
            to(Action::Expire(n), next);
        }
    }
}
