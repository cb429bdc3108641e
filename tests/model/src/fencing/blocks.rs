//! Blocks of numbers: which of them a lease owns, and how its process uses them up.

use std::ops::RangeInclusive;

use crate::attempts::has;
use crate::search::Take;

use super::{Action, Block, Fencing, HandOver, Phase, State, Writer};

impl<const NODES: usize, const ATTEMPTS: usize> Fencing<NODES, ATTEMPTS> {
    /// Returns the numbers that `a` owns, once it has chosen its count.
    pub(super) fn numbers(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> RangeInclusive<u8> {
        let attempt = state.attempts[a];
        if has(self.readers, a) {
            return attempt.count..=attempt.count;
        }
        let last = attempt.count - u8::from(self.writer != Writer::AtTheCounter);
        match self.block {
            Block::AboveTheCount => last..=last + self.most - 1,
            _ if self.most == 1 => last..=last,
            _ => attempt.first..=last,
        }
    }

    /// Returns the first number of a writer's block below `count`, if a majority answered that counters stood at
    /// `before`.
    pub(super) fn first(&self, before: impl Iterator<Item = u8>, count: u8) -> u8 {
        let above = match self.block {
            Block::AboveOneNode => before.min(),
            _ => before.max(),
        };
        let lowest = count.saturating_sub(self.most);
        lowest.max(above.unwrap_or(0) + 1).min(count)
    }

    /// True if the lease of `a` may rest on a node whose counter stood at `before`. A grant that comes later has to leave
    /// the block as it is.
    pub(super) fn leaves_block(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        before: u8,
    ) -> bool {
        let block = self.numbers(state, a);
        before < *block.start() || self.block == Block::AboveOneNode || has(self.readers, a)
    }

    /// Returns the number at which the counters of a majority have to stand before `a` holds.
    pub(super) fn goal(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> u8 {
        let attempt = state.attempts[a];
        match self.block {
            Block::ConfirmedAtItsFirst => attempt.first + 1,
            _ => attempt.count,
        }
    }

    /// The lease of `a` ends, and the next caller of its process takes it over.
    pub(super) fn hand_over(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        let may = match self.hand_over {
            HandOver::Never => false,
            HandOver::AfterTheEnd => true,
            _ => state.attempts[a].phase == Phase::Held,
        };
        if may && self.has_left(state, a) {
            let mut next = *state;
            let number = self.begin(&mut next, a);
            to(Action::TakeOver(a, number), next);
        }
    }

    /// True if `a` has begun a lease, and its block has a number left.
    fn has_left(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> bool {
        let used = state.attempts[a].used;
        used > 0 && usize::from(used) < self.numbers(state, a).count()
    }

    /// The lease or the attempt of `a` is over, for whatever reason. Its keys may go.
    pub(super) fn end(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        if self.hand_over != HandOver::Never && state.attempts[a].phase != Phase::Over {
            let mut next = *state;
            next.attempts[a].phase = Phase::Over;
            to(Action::End(a), next);
        }
    }

    /// Begins a lease with the next number of `from`, and tells the store. Returns the number.
    fn begin(&self, next: &mut State<NODES, ATTEMPTS>, from: usize) -> u8 {
        let place = match self.hand_over {
            HandOver::SameNumber => 0,
            _ => next.attempts[from].used,
        };
        next.attempts[from].used += 1;
        let number = self.numbers(next, from).start() + place;
        next.store.record(number, has(self.readers, from));
        number
    }

    /// Begins the lease of `a`, which holds the lock in `next`.
    pub(super) fn begin_first(
        &self,
        next: State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        if self.hand_over == HandOver::Never {
            let number = *self.numbers(&next, a).start();
            return to(Action::Hold(a, number), next);
        }
        let is_lost = |it: &usize| {
            let is_over = next.attempts[*it].phase == Phase::Over;
            self.hand_over == HandOver::OfALostLease && is_over && self.has_left(&next, *it)
        };
        for from in (0..ATTEMPTS).filter(is_lost).chain([a]) {
            let mut next = next;
            let number = self.begin(&mut next, from);
            to(Action::Hold(a, number), next);
        }
    }
}
