//! What clients do, and what happens at the nodes.

use crate::attempts::bits;
use crate::search::Take;

use super::{Action, Column, Design, Permits, Phase, SLOTS, State, Vote};

impl<const NODES: usize, const ATTEMPTS: usize> Permits<NODES, ATTEMPTS> {
    const MAJORITY: usize = NODES / 2 + 1;

    pub(super) fn client_steps(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        let mut go = |action, phase| {
            let mut next = *state;
            next.attempts[a] = phase;
            to(action, next);
        };
        match state.attempts[a] {
            Phase::Idle if self.may_start(state, a) => go(Action::Start(a), Phase::Trying),
            Phase::Idle | Phase::Over => {}
            Phase::Trying => {
                if self.has_won(state, a) {
                    go(Action::Hold(a), Phase::Held);
                }
                go(Action::End(a), Phase::Over);
            }
            Phase::Held => go(Action::End(a), Phase::Over),
        }
    }

    /// Attempts that believe in the same number are alike, so they start in the order of their names.
    fn may_start(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> bool {
        let is_alike = |b: &usize| self.permits[*b] == self.permits[a];
        let mut earlier = (0..a).filter(is_alike);
        earlier.all(|b| state.attempts[b] != Phase::Idle)
    }

    fn has_won(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> bool {
        let cells = || state.columns.iter().map(|column| &column.cells[a]);
        match self.design {
            Design::Slots => Self::won_slots(state, a) != 0,
            Design::AnySlot | Design::CounterAtEachNode => granted(state, a) >= Self::MAJORITY,
            Design::AddAndCount => {
                // The attempt may wait for any majority, so it wins if some majority names few enough.
                let counts: Vec<u8> = cells().filter_map(|cell| cell.counted).collect();
                majorities(&counts, Self::MAJORITY)
                    .any(|there| there.count_ones() as usize <= self.permits[a])
            }
        }
    }

    pub(super) fn node_steps(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let phase = state.attempts[a];
        // An acquisition may arrive when its attempt is over. Its grant counts for nothing then.
        if phase != Phase::Idle && column.cells[a].vote == Vote::Underway {
            self.acquire(state, a, n, to);
        }
        if phase == Phase::Over && column.cells[a].kept != 0 {
            let mut next = *state;
            next.columns[n].cells[a].kept = 0;
            to(Action::Vanish(a, n), next);
        }
        // The release of what was not won comes when it comes.
        let kept = column.cells[a].kept;
        let won = Self::won_slots(state, a);
        if self.design == Design::Slots && phase == Phase::Held && kept & !won != 0 {
            let mut next = *state;
            next.columns[n].cells[a].kept &= won;
            to(Action::LetGo(a, n), next);
        }
    }

    /// The slots that a majority granted to `a`: a bit for each.
    fn won_slots(state: &State<NODES, ATTEMPTS>, a: usize) -> u8 {
        let cells = || state.columns.iter().map(|column| &column.cells[a]);
        let is_won = |slot: usize| {
            let granted = cells().filter(|cell| cell.answered >> slot & 1 == 1);
            granted.count() >= Self::MAJORITY
        };
        bits(SLOTS, is_won)
    }

    fn acquire(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let mut grant = |slots: u8, counted: Option<u8>| {
            let mut next = *state;
            let cell = &mut next.columns[n].cells[a];
            cell.vote = Vote::Granted;
            cell.kept = slots;
            cell.answered = slots;
            cell.counted = counted;
            to(Action::Grant(a, n, slots), next);
        };
        let there = present(column);
        let is_granted = if self.design.has_slots() {
            let taken = column.cells.iter().fold(0, |all, cell| all | cell.kept);
            let slots = (0..self.permits[a]).map(|slot| 1 << slot);
            let mut free = slots.filter(|slot| slot & taken == 0).peekable();
            let is_granted = free.peek().is_some();
            for slot in free {
                grant(slot, None);
            }
            is_granted
        } else {
            let admits = match self.design {
                Design::CounterAtEachNode => (there.count_ones() as usize) < self.permits[a],
                _ => true,
            };
            if admits {
                let counts = self.design == Design::AddAndCount;
                grant(1, counts.then_some(there | 1 << a));
            }
            admits
        };
        if !is_granted {
            let mut next = *state;
            next.columns[n].cells[a].vote = Vote::Refused;
            to(Action::Refuse(a, n), next);
        }
    }
}

/// The number of nodes that granted `a`.
fn granted<const NODES: usize, const ATTEMPTS: usize>(
    state: &State<NODES, ATTEMPTS>,
    a: usize,
) -> usize {
    let is_granted = |column: &&Column<ATTEMPTS>| column.cells[a].vote == Vote::Granted;
    state.columns.iter().filter(is_granted).count()
}

/// The attempts that a node keeps something for: a bit for each.
fn present<const ATTEMPTS: usize>(column: &Column<ATTEMPTS>) -> u8 {
    bits(ATTEMPTS, |b| column.cells[b].kept != 0)
}

/// The attempts that `of` replies name together, for each choice of replies.
fn majorities(counts: &[u8], of: usize) -> impl Iterator<Item = u8> + '_ {
    (0_u32..1 << counts.len())
        .filter(move |chosen| chosen.count_ones() as usize == of)
        .map(|chosen| {
            let named = counts.iter().enumerate();
            let named = named.filter(|(at, _)| chosen >> at & 1 == 1);
            named.fold(0, |all, (_, there)| all | there)
        })
}
