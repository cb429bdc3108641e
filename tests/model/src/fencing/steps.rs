//! What can happen next.

use std::collections::HashSet;

use crate::attempts::{bits, has};
use crate::search::Take;

use super::{
    Acquisition, Action, Column, Confirm, Counters, Fencing, Hints, Keys, Phase, Promise,
    Restoring, Standing, State, Vote, Writer,
};

/// Counters beyond this are of no interest: only acquisitions that run again and again get there.
const MOST: u8 = 40;

impl<const NODES: usize, const ATTEMPTS: usize> Fencing<NODES, ATTEMPTS> {
    const MAJORITY: usize = NODES / 2 + 1;

    pub(super) fn has_starts(&self) -> bool {
        self.counters == Counters::LostAndGuarded
            || matches!(self.hints, Hints::Clock(_) | Hints::Asked(..))
    }

    /// Returns how far `a` counts up at a node.
    fn step(&self, a: usize) -> u8 {
        match self.writer {
            _ if has(self.readers, a) => 0,
            Writer::OneBelow => 2,
            Writer::AtTheCounter | Writer::OneStep => 1,
        }
    }

    /// True if nobody is at the node, or only readers if `a` reads too.
    fn has_room(&self, column: &Column<ATTEMPTS>, a: usize) -> bool {
        column.keys == 0 || has(self.readers, a) && column.keys & !self.readers == 0
    }

    pub(super) fn all_steps(&self, state: &State<NODES, ATTEMPTS>, to: &mut impl Take<Self>) {
        for a in 0..ATTEMPTS {
            match state.attempts[a].phase {
                Phase::Idle => {
                    self.start(state, a, to);
                    continue;
                }
                Phase::Trying => self.choose(state, a, to),
                Phase::Confirming => self.hold(state, a, to),
                Phase::Held | Phase::Over => self.hand_over(state, a, to),
            }
            self.end(state, a, to);
            for n in 0..NODES {
                self.acquire(state, a, n, to);
                self.confirm(state, a, n, to);
                self.restore(state, a, n, to);
            }
        }
        for n in 0..NODES {
            self.lose(state, n, to);
            Self::mend(state, n, to);
            self.expire(state, n, to);
        }
    }

    /// Attempts are alike, so they may as well start in the order of their names.
    fn start(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        if a > 0 && state.attempts[a - 1].phase == Phase::Idle {
            return;
        }
        let mut next = *state;
        next.attempts[a].phase = Phase::Trying;
        if self.promise == Promise::StartOrder {
            next.attempts[a].before = state.held();
        }
        to(Action::Start(a), next);
    }

    fn acquire(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let again = column.cells[a].vote != Vote::Underway;
        if again && (self.acquisition == Acquisition::Once || column.counter >= MOST) {
            return;
        }
        if !self.has_room(column, a) || has(column.refuses, a) {
            return;
        }
        // Without starts, attempts are named in the order of their first grants.
        if !self.has_starts() && a > 0 && !state.has_begun(a - 1) {
            return;
        }
        let clock = Self::time(self.hints, a) + self.shift(state, n);
        let hints = match self.hints {
            Hints::None | Hints::Clock(_) => &[0][..],
            Hints::Any(hints) | Hints::Asked(_, hints) => hints,
        };
        for hint in hints {
            let counter = (column.counter + self.step(a)).max(clock + hint);
            let mut next = *state;
            next.columns[n].keys |= 1 << a;
            next.columns[n].counter = counter;
            if again {
                // The attempt has had its answer.
                to(Action::GrantAgain(a, n, counter), next);
                continue;
            }
            if self.promise != Promise::StartOrder && !state.has_begun(a) {
                next.attempts[a].before = state.held();
            }
            self.grant(&mut next, state, a, n);
            to(Action::Grant(a, n, counter), next);
        }
    }

    /// The answer, and what is remembered of the order of things.
    fn grant(
        &self,
        next: &mut State<NODES, ATTEMPTS>,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
    ) {
        let attempt = state.attempts[a];
        let counter = next.columns[n].counter;
        let cells = &state.columns[n].cells;
        let cell = &mut next.columns[n].cells[a];
        cell.earlier = bits(ATTEMPTS, |b| b != a && was_granted(cells[b].vote));
        if matches!(attempt.phase, Phase::Held | Phase::Over) {
            Self::spare(next, a, n);
            return;
        }
        cell.answered = counter;
        if self.most > 1 && !has(self.readers, a) {
            cell.before = state.columns[n].counter;
        }
        cell.vote = Vote::Granted;
        // The attempt has chosen its token, and asks for it here too.
        if attempt.phase == Phase::Confirming
            && self.confirm != Confirm::Never
            && counter < self.goal(state, a)
            && self.leaves_block(state, a, cell.before)
        {
            cell.standing = Standing::Underway;
        }
    }

    /// Any majority of the grants may be the first that the attempt knows of.
    fn choose(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let cell = |n: usize| state.columns[n].cells[a];
        let mut chosen = HashSet::new();
        for majority in 0_usize..1 << NODES {
            let members = || (0..NODES).filter(|n| majority >> n & 1 == 1);
            if members().count() < Self::MAJORITY
                || members().any(|n| cell(n).vote != Vote::Granted)
            {
                continue;
            }
            let count = members().map(|n| cell(n).answered).max().unwrap_or(0);
            let first = match self.most {
                1 => 0,
                _ => self.first(members().map(|n| cell(n).before), count),
            };
            if !chosen.insert((first, count)) {
                continue;
            }
            let mut next = *state;
            let attempt = &mut next.attempts[a];
            attempt.phase = Phase::Confirming;
            (attempt.first, attempt.count) = (first, count);
            let goal = self.goal(&next, a);
            for n in 0..NODES {
                let asked = match self.confirm {
                    Confirm::Never => false,
                    Confirm::AnyMajority => {
                        cell(n).vote != Vote::Granted || cell(n).answered < goal
                    }
                    _ => {
                        cell(n).vote == Vote::Granted
                            && cell(n).answered < goal
                            && self.leaves_block(&next, a, cell(n).before)
                    }
                };
                if asked {
                    next.columns[n].cells[a].standing = Standing::Underway;
                }
            }
            let number = *self.numbers(&next, a).start();
            to(Action::Choose(a, number), next);
        }
    }

    fn confirm(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        if column.cells[a].standing != Standing::Underway {
            return;
        }
        let unchecked = matches!(self.confirm, Confirm::KeyNotChecked | Confirm::AnyMajority);
        let mut next = *state;
        if unchecked || has(column.keys, a) {
            let counter = column.counter.max(self.goal(state, a));
            next.columns[n].counter = counter;
            next.columns[n].cells[a].standing = match state.attempts[a].phase {
                // Nobody waits for it any more.
                Phase::Held | Phase::Over => Standing::Unasked,
                _ => Standing::Confirmed,
            };
            to(Action::Confirm(a, n, counter), next);
        }
    }

    fn counts(&self, state: &State<NODES, ATTEMPTS>, a: usize, n: usize) -> bool {
        let cell = state.columns[n].cells[a];
        let (goal, count) = (self.goal(state, a), state.attempts[a].count);
        let granted = cell.vote == Vote::Granted && self.leaves_block(state, a, cell.before);
        let attained = (goal..=count).contains(&cell.answered);
        let confirmed = cell.standing == Standing::Confirmed;
        match self.confirm {
            Confirm::Never | Confirm::NotAwaited => granted,
            Confirm::AnyMajority => confirmed || granted && attained,
            Confirm::HigherCounts => granted && (confirmed || cell.answered >= goal),
            Confirm::WhereGranted | Confirm::KeyNotChecked => granted && (confirmed || attained),
        }
    }

    fn hold(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let counted = (0..NODES).filter(|n| self.counts(state, a, *n)).count();
        if counted < Self::MAJORITY {
            return;
        }
        let mut next = *state;
        next.attempts[a].phase = Phase::Held;
        for n in 0..NODES {
            let counts = self.counts(state, a, n);
            let cell = &mut next.columns[n].cells[a];
            if cell.standing != Standing::Underway {
                cell.standing = Standing::Unasked;
            }
            if counts {
                cell.vote = Vote::Counted;
                (cell.answered, cell.before) = (0, 0);
            } else if was_granted(cell.vote) {
                Self::spare(&mut next, a, n);
            }
        }
        self.begin_first(next, a, to);
    }

    /// A grant that the lease does not rest on: what it answered can matter no more.
    fn spare(next: &mut State<NODES, ATTEMPTS>, a: usize, n: usize) {
        let cell = &mut next.columns[n].cells[a];
        cell.vote = Vote::Spare;
        (cell.answered, cell.before) = (0, 0);
        cell.earlier = 0;
    }

    fn restore(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let phase = state.attempts[a].phase;
        let was_sent = match self.restoring {
            Restoring::Never => false,
            Restoring::OnceHeld => matches!(phase, Phase::Held | Phase::Over),
            Restoring::BeforeHeld => !matches!(phase, Phase::Idle | Phase::Trying),
        };
        if !was_sent || has(column.keys, a) || !self.has_room(column, a) {
            return;
        }
        let mut next = *state;
        next.columns[n].keys |= 1 << a;
        to(Action::Restore(a, n), next);
    }

    fn lose(&self, state: &State<NODES, ATTEMPTS>, n: usize, to: &mut impl Take<Self>) {
        let column = &state.columns[n];
        let goes = |owner: &usize| {
            let is_over = state.attempts[*owner].phase == Phase::Over;
            has(column.keys, *owner) && (is_over || self.keys == Keys::VanishAnyTime)
        };
        for owner in (0..ATTEMPTS).filter(goes) {
            let mut next = *state;
            next.columns[n].keys &= !(1 << owner);
            to(Action::Vanish(owner, n), next);
        }
        if self.counters != Counters::Kept && column.counter != 0 {
            let mut next = *state;
            next.columns[n].keys = 0;
            next.columns[n].counter = 0;
            if self.counters == Counters::LostAndGuarded {
                next.columns[n].refuses = Self::begun(state);
            }
            to(Action::Restart(n), next);
        }
    }
}

pub(super) fn was_granted(vote: Vote) -> bool {
    vote != Vote::Underway
}
