//! How a lock goes from one holder to the next without being free in between.

use crate::attempts::{has, owner_of};
use crate::search::Take;

use super::{Action, Fencing, Handing, Phase, State, Vote};

impl<const NODES: usize, const ATTEMPTS: usize> Fencing<NODES, ATTEMPTS> {
    /// The attempt that `n` has the key of, where that gives way to `a`: it has had its lease. That it
    /// is over by then is a promise of the quorum, and the order of tokens needs none.
    fn predecessor(&self, state: &State<NODES, ATTEMPTS>, a: usize, n: usize) -> Option<usize> {
        let before = owner_of(state.columns[n].key)?;
        let is_held = state.attempts[before].phase == Phase::Held;
        (self.handing != Handing::Never && before != a && is_held).then_some(before)
    }

    pub(super) fn gives_way(&self, state: &State<NODES, ATTEMPTS>, a: usize, n: usize) -> bool {
        self.predecessor(state, a, n).is_some()
    }

    /// Whether `n` takes the key of the one before for `a`'s. It had had its lease before any node
    /// granted `a`.
    pub(super) fn is_taken_for_ours(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
    ) -> bool {
        self.handing == Handing::ConfirmedByTheOneBefore
            && self
                .predecessor(state, a, n)
                .is_some_and(|before| has(state.attempts[a].before, before))
    }

    pub(super) fn inherit(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let is_asked = state.columns[n].cells[a].vote == Vote::Underway;
        if self.handing != Handing::GrantsInherited || !is_asked {
            return;
        }
        if let Some(before) = self.predecessor(state, a, n) {
            let token = state.attempts[before].token;
            let mut next = *state;
            next.columns[n].cells[a].vote = Vote::Heard;
            next.columns[n].cells[a].answered = token;
            to(Action::Inherit(a, n, token), next);
        }
    }

    pub(super) fn take_over(
        &self,
        state: &State<NODES, ATTEMPTS>,
        b: usize,
        to: &mut impl Take<Self>,
    ) {
        if self.handing != Handing::AsItIs {
            return;
        }
        for a in (0..ATTEMPTS).filter(|a| state.attempts[*a].phase == Phase::Held) {
            let mut next = *state;
            next.attempts[b].phase = Phase::Held;
            next.attempts[b].token = state.attempts[a].token;
            next.attempts[b].before = state.held();
            to(Action::TakeOver(b, a), next);
        }
    }
}
