//! What is to hold, and what has to be reached.

use crate::attempts::{bits, has, name};

use super::{Column, Design, Permits, Phase, SLOTS, State, Vote, landmark};

impl<const NODES: usize, const ATTEMPTS: usize> Permits<NODES, ATTEMPTS> {
    /// The permits held never exceed the largest number that one of their holders believes in.
    pub(super) fn too_many(&self, state: &State<NODES, ATTEMPTS>) -> Option<String> {
        let held = held(state);
        let most = (0..ATTEMPTS).filter(|a| has(held, *a));
        let most = most.map(|a| self.permits[a]).max()?;
        let count = held.count_ones() as usize;
        (count > most).then(|| {
            let holders: String = (0..ATTEMPTS).filter(|a| has(held, *a)).map(name).collect();
            format!("{holders} hold {count} of {most} permits")
        })
    }

    pub(super) fn seen(&self, state: &State<NODES, ATTEMPTS>) -> u32 {
        let held = held(state);
        let phases = || state.attempts.iter();
        let mut seen = 0;
        let believed = (0..ATTEMPTS).filter(|a| has(held, *a));
        let most = believed.map(|a| self.permits[a]).max();
        if most == Some(held.count_ones() as usize) {
            seen |= landmark::ALL_HELD;
        }
        if held != 0 && phases().any(|phase| *phase == Phase::Over) {
            seen |= landmark::SUCCESSION;
        }
        let is_plain = |a: &usize| self.permits[*a] == 1;
        let mut holders = (0..ATTEMPTS).filter(|a| has(held, *a));
        if holders.clone().any(|a| is_plain(&a)) && holders.any(|a| !is_plain(&a)) {
            seen |= landmark::PLAIN_BESIDE_PERMIT;
        }
        for (a, phase) in phases().enumerate() {
            let cells = || state.columns.iter().map(|column| &column.cells[a]);
            let slot_votes = |slot: usize| {
                let granted = cells().filter(|cell| cell.answered >> slot & 1 == 1);
                granted.count()
            };
            let is_everywhere = cells().all(|cell| cell.vote == Vote::Granted);
            let has_majority = (0..SLOTS).any(|slot| slot_votes(slot) > NODES / 2);
            if self.design == Design::Slots && is_everywhere && !has_majority {
                seen |= landmark::SPLIT;
            }
            let is_let_go = |column: &Column<ATTEMPTS>| {
                let lost = column.cells[a].answered & !column.cells[a].kept;
                let mut others = (0..ATTEMPTS).filter(|b| *b != a);
                others.any(|b| column.cells[b].kept & lost != 0)
            };
            if *phase == Phase::Held && state.columns.iter().any(is_let_go) {
                seen |= landmark::LET_GO;
            }
            if *phase == Phase::Over && cells().any(|cell| cell.kept != 0) {
                seen |= landmark::LEFTOVER;
            }
        }
        seen
    }
}

/// The attempts that hold. A bit for each.
fn held<const NODES: usize, const ATTEMPTS: usize>(state: &State<NODES, ATTEMPTS>) -> u8 {
    bits(ATTEMPTS, |a| state.attempts[a] == Phase::Held)
}
