//! Attempts: how they begin, ask, and win or not; what arrives at the nodes.

use crate::search::Take;

use super::state::{Age, Possession};
use super::{
    Acquire, Action, Counting, Exclusion, Extend, Keys, Owner, Phase, Promise, Quorum, Release,
    Restoring, Standing, State,
};

/// The attempt that a promise about one lease is about.
const WATCHED: usize = 0;

impl<const NODES: usize, const ATTEMPTS: usize> Exclusion<NODES, ATTEMPTS> {
    pub(super) fn client_steps(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        to: &mut impl Take<Self>,
    ) {
        match state.attempts[a].phase {
            Phase::Idle => self.start(state, a, to),
            Phase::Trying => {
                self.grow_late(state, a, to);
                self.establish(state, a, to);
                self.end(state, a, to);
            }
            Phase::Valid => {
                self.grow_late(state, a, to);
                self.extend(state, a, to);
                if self.release == Release::UnderTheBody && !state.columns[0].cells[a].release {
                    let mut next = *state;
                    for column in &mut next.columns {
                        column.cells[a].release = true;
                    }
                    to(Action::ReleaseEarly(a), next);
                }
                self.end(state, a, to);
            }
            Phase::Over => {}
        }
    }

    /// Kept only where it matters.
    fn grow_late(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let matters = self.keys == Keys::LostLater || self.counting == Counting::Continuous;
        if matters && !state.attempts[a].is_late {
            let mut next = *state;
            next.attempts[a].is_late = true;
            to(Action::GrowLate(a), next);
        }
    }

    /// Where a promise is about one lease, it is A's. The others are there to be in its way.
    pub(super) fn is_watched(&self, a: usize) -> bool {
        a == WATCHED || !matches!(self.promise, Promise::Unbroken | Promise::NobodyBetween)
    }

    /// Notes whether the lease that is watched has lost its majority in the step that led to `next`.
    pub(super) fn with_gaps(&self, mut next: State<NODES, ATTEMPTS>) -> State<NODES, ATTEMPTS> {
        if self.promise == Promise::Unbroken {
            let ours = next.columns.iter().filter(|column| column.is_of(WATCHED));
            let ours = ours.count();
            let attempt = &mut next.attempts[WATCHED];
            let is_broken = attempt.phase == Phase::Valid && ours <= NODES / 2;
            if is_broken && attempt.possession == Possession::Whole {
                attempt.possession = Possession::Broken;
            }
        }
        next
    }

    /// What is under way between `a` and node `n`.
    pub(super) fn deliveries(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let cell = &state.columns[n].cells[a];
        if cell.acquire == Acquire::Underway {
            self.acquire(state, a, n, to);
        }
        if cell.extend == Extend::Underway {
            self.prolong(state, a, n, to);
        }
        if cell.restores != 0 {
            self.restore(state, a, n, to);
        }
        if cell.release {
            self.release(state, a, n, to);
        }
    }

    /// Attempts are alike, so they may as well start in the order of their names.
    fn start(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        if a > 0 {
            let one_before = state.attempts[a - 1].phase;
            let is_retry = self.owner == Owner::EachClient && a == 1;
            if one_before == Phase::Idle || is_retry && one_before != Phase::Over {
                return;
            }
        }
        let everywhere = (1_usize << NODES) - 1;
        let fewest = match self.quorum {
            Quorum::OfConnected => 1,
            Quorum::Majority | Quorum::Half => everywhere,
        };
        for nodes in fewest..=everywhere {
            let mut next = *state;
            next.attempts[a].phase = Phase::Trying;
            next.attempts[a].after = self.had_a_lease(state);
            for n in (0..NODES).filter(|n| nodes >> n & 1 == 1) {
                next.columns[n].cells[a].acquire = Acquire::Underway;
            }
            to(Action::Start(a, nodes.count_ones() as usize), next);
        }
    }

    /// Kept only where the promise asks for it.
    pub(super) fn had_a_lease(&self, state: &State<NODES, ATTEMPTS>) -> u8 {
        if self.promise == Promise::NobodyBetween {
            state.succeeded()
        } else {
            0
        }
    }

    fn acquire(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let mut next = *state;
        if column.key != 0 || column.waits() {
            // Otherwise it is as good as lost.
            if self.restoring == Restoring::OneAtATime {
                next.columns[n].cells[a].acquire = Acquire::Refused;
                to(Action::Refuse(a, n), next);
            }
            return;
        }
        let attempt = &state.attempts[a];
        let age = if attempt.won == 0 && attempt.phase != Phase::Over {
            Age::Current
        } else {
            Age::Old
        };
        next.columns[n].set(a, age);
        let cell = &mut next.columns[n].cells[a];
        cell.acquire = Acquire::Granted;
        let standing = cell.standing;
        if attempt.phase == Phase::Valid {
            cell.standing = Standing::Out;
        }
        to(Action::Grant(a, n), next);
        if attempt.phase == Phase::Valid && self.counts_at_once(state, a) {
            next.columns[n].cells[a].standing = Standing::Firm;
            to(Action::Grant(a, n), next);
        }
        if attempt.phase == Phase::Valid && self.is_about_answers() {
            next.columns[n].cells[a].standing = self.without_answer(standing);
            to(Action::Grant(a, n), next);
        }
    }

    /// True if a grant that the client hears of now makes the node continuous.
    fn counts_at_once(&self, state: &State<NODES, ATTEMPTS>, a: usize) -> bool {
        match self.counting {
            Counting::Continuous | Counting::FoundOnce => !state.attempts[a].is_late,
            Counting::AnyStraggler => true,
            Counting::EveryYes | Counting::NoStragglers => false,
        }
    }

    /// True if it matters what the client has heard of a key that was set late.
    pub(super) fn is_about_answers(&self) -> bool {
        match self.counting {
            Counting::EveryYes | Counting::NoStragglers => false,
            Counting::Continuous | Counting::FoundOnce | Counting::AnyStraggler => true,
        }
    }

    /// Returns what becomes of a node's standing where the answer to a `SET` is lost.
    pub(super) fn without_answer(&self, standing: Standing) -> Standing {
        match self.restoring {
            Restoring::OneAtATime => Standing::Unanswered,
            Restoring::Never | Restoring::Freely => standing,
        }
    }

    fn establish(&self, state: &State<NODES, ATTEMPTS>, a: usize, to: &mut impl Take<Self>) {
        let acquires = || state.columns.iter().map(|column| column.cells[a].acquire);
        let granted = acquires().filter(|one| *one == Acquire::Granted).count();
        let sent = acquires().filter(|one| *one != Acquire::Unsent).count();
        let needed = match self.quorum {
            Quorum::Majority => NODES / 2 + 1,
            Quorum::Half => NODES / 2,
            Quorum::OfConnected => sent / 2 + 1,
        };
        if granted < needed {
            return;
        }
        let mut next = *state;
        next.attempts[a].phase = Phase::Valid;
        next.attempts[a].succeeded = true;
        for column in &mut next.columns {
            if column.cells[a].acquire == Acquire::Granted {
                column.cells[a].standing = self.standing(Standing::Firm);
            }
        }
        to(Action::Establish(a), next);
    }

    /// Kept only where it matters.
    pub(super) fn standing(&self, standing: Standing) -> Standing {
        match self.counting {
            Counting::EveryYes => Standing::Out,
            _ => standing,
        }
    }
}
