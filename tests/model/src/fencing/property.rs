//! What is to hold, and what has to be reached.

use crate::attempts::{has, name};

use super::steps::was_granted;
use super::{Fencing, Phase, Promise, Standing, State, Vote, landmark};

impl<const NODES: usize, const ATTEMPTS: usize> Fencing<NODES, ATTEMPTS> {
    pub(super) fn broken_promise(&self, state: &State<NODES, ATTEMPTS>) -> Option<String> {
        if self.promise == Promise::Store {
            let refused = state.store.refused;
            return refused.map(|it| format!("the store refuses {it}: it knows one as high"));
        }
        let is_held = |a: &usize| state.attempts[*a].phase == Phase::Held;
        for a in (0..ATTEMPTS).filter(is_held) {
            for b in (0..ATTEMPTS).filter(is_held).filter(|b| *b != a) {
                let (ours, theirs) = (self.numbers(state, a), self.numbers(state, b));
                let (first, second) = (*ours.end(), *theirs.start());
                if ours.contains(&second) && !self.both_read(a, b) {
                    return Some(format!(
                        "{} and {} both have token {second}",
                        name(a),
                        name(b)
                    ));
                }
                if first > second
                    && let Some(why) = self.comes_first(state, a, b)
                {
                    return Some(format!(
                        "{} {why} {}, but its token {first} is above {second}",
                        name(a),
                        name(b),
                    ));
                }
            }
        }
        None
    }

    /// Why `a` must have the lower token.
    fn comes_first(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        b: usize,
    ) -> Option<&'static str> {
        let began_after = has(state.attempts[b].before, a);
        let counts = |n: usize, attempt: usize| {
            let vote = state.columns[n].cells[attempt].vote;
            vote == Vote::Counted
        };
        let granted_after = |n: usize| has(state.columns[n].cells[b].earlier, a);
        match self.promise {
            Promise::Users => began_after.then_some("was held before the first grant of"),
            Promise::Store => None,
            Promise::StartOrder => began_after.then_some("was held before the start of"),
            Promise::GrantOrder => {
                let shared = |n: usize| counts(n, a) && counts(n, b) && granted_after(n);
                let shared = !self.both_read(a, b) && (0..NODES).any(shared);
                (began_after || shared).then_some("was granted earlier, at a shared node, than")
            }
        }
    }

    fn both_read(&self, a: usize, b: usize) -> bool {
        has(self.readers, a) && has(self.readers, b)
    }

    pub(super) fn seen(&self, state: &State<NODES, ATTEMPTS>) -> u32 {
        let mut seen = landmarks(state);
        if state
            .columns
            .iter()
            .any(|column| column.keys.count_ones() > 1)
        {
            seen |= landmark::READERS;
        }
        let held = (0..ATTEMPTS).filter(|a| state.attempts[*a].phase == Phase::Held);
        let (readers, writers): (Vec<_>, Vec<_>) = held.partition(|a| has(self.readers, *a));
        let is_close = |reader: &usize| {
            let below = |writer: &usize| {
                self.numbers(state, *writer).end() + 1 == *self.numbers(state, *reader).start()
            };
            writers.iter().any(below)
        };
        if readers.iter().any(is_close) {
            seen |= landmark::CLOSE;
        }
        if writers.iter().any(|a| self.numbers(state, *a).count() > 1) {
            seen |= landmark::BLOCK;
        }
        let used = state.attempts.map(|attempt| attempt.used);
        if used.iter().any(|used| *used > 1) {
            seen |= landmark::TAKEN_OVER;
        }
        if used.iter().filter(|used| **used > 0).count() > 1 {
            seen |= landmark::ONE_AFTER_THE_OTHER;
        }
        seen
    }
}

fn landmarks<const NODES: usize, const ATTEMPTS: usize>(state: &State<NODES, ATTEMPTS>) -> u32 {
    let mut seen = 0;
    let leases = state.held().count_ones();
    if leases >= 2 {
        seen |= landmark::TWO_LEASES;
    }
    if leases >= 3 {
        seen |= landmark::THREE_LEASES;
    }
    for (a, attempt) in state.attempts.iter().enumerate() {
        let cells = || state.columns.iter().map(|column| column.cells[a]);
        match attempt.phase {
            Phase::Confirming => {
                let majority = NODES / 2 + 1;
                let at_token = |answered: u8| answered == attempt.count;
                if cells().filter(|cell| at_token(cell.answered)).count() >= majority {
                    seen |= landmark::ONE_ROUND;
                } else if cells()
                    .filter(|cell| at_token(cell.answered) || cell.standing == Standing::Confirmed)
                    .count()
                    >= majority
                {
                    seen |= landmark::CONFIRMED;
                }
                let too_late = |n: usize| {
                    let column = &state.columns[n];
                    column.cells[a].standing == Standing::Underway
                        && was_granted(column.cells[a].vote)
                        && !has(column.keys, a)
                };
                if (0..NODES).any(too_late) {
                    seen |= landmark::CONFIRM_TOO_LATE;
                }
            }
            Phase::Held => {
                let taken = |n: usize| {
                    let column = &state.columns[n];
                    column.cells[a].vote == Vote::Counted
                        && column.keys != 0
                        && !has(column.keys, a)
                };
                if (0..NODES).any(taken) {
                    seen |= landmark::STALE_HOLDER;
                }
                let back = |n: usize| {
                    let column = &state.columns[n];
                    has(column.keys, a) && !was_granted(column.cells[a].vote)
                };
                if (0..NODES).any(back) {
                    seen |= landmark::KEY_IS_BACK;
                }
            }
            Phase::Idle | Phase::Trying | Phase::Over => {}
        }
    }
    seen
}
