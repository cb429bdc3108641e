//! How a lock goes from one holder to the next without being free in between.

use crate::attempts::{key_of, owner_of};
use crate::search::Take;

use super::state::{Age, Passed};
use super::{Acquire, Action, Exclusion, Extend, Handing, Phase, State};

impl<const NODES: usize, const ATTEMPTS: usize> Exclusion<NODES, ATTEMPTS> {
    /// `b` begins as the successor of any attempt that is over, however it ended; of the same one as
    /// another did, perhaps. The release of that one was sent, and does what an expiry does: where it
    /// does more, see [`hand_over`](Self::hand_over).
    pub(super) fn succeed(
        &self,
        state: &State<NODES, ATTEMPTS>,
        b: usize,
        to: &mut impl Take<Self>,
    ) {
        if self.handing == Handing::Never || self.release_matters() {
            return;
        }
        for a in 0..ATTEMPTS {
            let may = match state.attempts[a].phase {
                Phase::Over => true,
                Phase::Valid => self.handing == Handing::UnderTheBody,
                Phase::Idle | Phase::Trying => false,
            };
            if may {
                let next = self.begun(state, a, b);
                to(Action::Succeed(a, b), next);
            }
        }
    }

    /// `a` is over, sends no release, and the next attempt begins as its successor; at the nodes that it
    /// is connected to.
    pub(super) fn hand_over(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        if self.handing == Handing::Never || !self.release_matters() {
            return;
        }
        let is_idle = |b: &usize| state.attempts[*b].phase == Phase::Idle;
        if let Some(b) = (0..ATTEMPTS).find(is_idle) {
            for nodes in 0_usize..1 << NODES {
                let mut next = self.begun(&self.ended(state, a), a, b);
                next.attempts[a].passed = Passed::ToSuccessor;
                for n in (0..NODES).filter(|n| nodes >> n & 1 == 0) {
                    next.columns[n].cells[b].acquire = Acquire::Unsent;
                }
                to(Action::HandOver(a, b, nodes.count_ones() as usize), next);
            }
        }
    }

    fn begun(&self, state: &State<NODES, ATTEMPTS>, a: usize, b: usize) -> State<NODES, ATTEMPTS> {
        let mut next = *state;
        let attempt = &mut next.attempts[b];
        attempt.phase = Phase::Trying;
        attempt.predecessor = key_of(a);
        attempt.after = self.had_a_lease(state);
        for column in &mut next.columns {
            column.cells[b].acquire = Acquire::Underway;
        }
        next
    }

    /// Whether the key at `n` counts as free for the acquisition of `b`.
    pub(super) fn gives_way(&self, state: &State<NODES, ATTEMPTS>, b: usize, n: usize) -> bool {
        let (key, predecessor) = (state.columns[n].key, state.attempts[b].predecessor);
        let is_any = self.handing == Handing::Overwriting;
        predecessor != 0 && key != 0 && (is_any || key == predecessor)
    }

    /// Whether `b` counts `n` as a vote.
    pub(super) fn has_granted(&self, state: &State<NODES, ATTEMPTS>, b: usize, n: usize) -> bool {
        let granted = |a: usize| state.columns[n].cells[a].acquire == Acquire::Granted;
        let inherited = || {
            let before = owner_of(state.attempts[b].predecessor);
            self.handing == Handing::GrantsInherited && before.is_some_and(granted)
        };
        granted(b) || inherited()
    }

    /// `b` is decided: whom it succeeds is released, where it was left to that.
    pub(super) fn release_predecessor(&self, next: &mut State<NODES, ATTEMPTS>, b: usize) {
        let Some(a) = owner_of(next.attempts[b].predecessor) else {
            return;
        };
        if next.attempts[a].passed != Passed::ToSuccessor {
            return;
        }
        next.attempts[a].passed = Passed::No;
        for column in &mut next.columns {
            let is_granted = column.cells[b].acquire == Acquire::Granted;
            column.cells[a].release = match self.handing {
                Handing::NotReleased => false,
                Handing::DeletedBehind => true,
                _ => !is_granted,
            };
        }
    }

    pub(super) fn is_deleted_behind(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> bool {
        let mut attempts = state.attempts.iter();
        self.handing == Handing::DeletedBehind
            && attempts.any(|attempt| attempt.predecessor == key_of(a))
    }

    /// Whether what is under way between `a` and `n` comes behind what another attempt of the same
    /// client sent there: an acquisition behind all of the predecessor's, and the predecessor's release
    /// behind that.
    pub(super) fn is_behind_another(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
    ) -> bool {
        let cells = &state.columns[n].cells;
        let is_before = |a: usize| {
            let cell = &cells[a];
            cell.acquire == Acquire::Underway
                || cell.extend == Extend::Underway
                || cell.restores != 0
        };
        if let Some(before) = owner_of(state.attempts[a].predecessor)
            && cells[a].acquire == Acquire::Underway
            && is_before(before)
        {
            return self.handing != Handing::Overtaking;
        }
        let succeeds = |b: &usize| state.attempts[*b].predecessor == key_of(a);
        let successor = (0..ATTEMPTS).find(succeeds);
        cells[a].release
            && !is_before(a)
            && successor.is_some_and(|b| cells[b].acquire == Acquire::Underway)
    }

    /// Another holder has the lease of `a` from here on, as it is.
    pub(super) fn take_over(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        if self.handing == Handing::Never || state.attempts[a].passed == Passed::AsItIs {
            return;
        }
        let mut next = *state;
        next.attempts[a].passed = Passed::AsItIs;
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
        if self.handing != Handing::TakenOverLate
            || !attempt.succeeded
            || attempt.passed == Passed::AsItIs
        {
            return;
        }
        let mut next = *state;
        next.attempts[a].passed = Passed::AsItIs;
        next.attempts[a].phase = Phase::Valid;
        to(Action::TakeOver(a), next);
    }
}
