//! The turn of a caller, from when it may talk to the nodes until its lease is over.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::env::timers::wake;
use crate::error::AcquireError;
use crate::model::token::OwnerToken;
use crate::quorum::terms::Terms;

use super::fairness::{Cohort, mark};
use super::handover::Inheritance;
use super::line::{IsWanted, Line, Quiet};
use super::{Legacy, Lines, Otherwise, Place};

/// The right to talk to the nodes for a line. Dropping it passes it on.
pub(crate) struct Turn {
    lines: Arc<Lines>,
    place: Place,
    tenure: Tenure,
    /// How many rounds of a break are left, for the next one where this one goes.
    rounds: u32,
}

/// A turn without its place: what a lease keeps of it, which knows its place.
pub(crate) struct Tenure {
    /// Zero once it was passed on.
    ticket: u64,
    cohort: Cohort,
}

impl Turn {
    pub(super) fn new(lines: &Arc<Lines>, place: Place, ticket: u64, cohort: Cohort) -> Self {
        Self::of(lines, place, Tenure { ticket, cohort })
    }

    /// The turn that a lease at `place` has kept.
    pub(crate) fn of(lines: &Arc<Lines>, place: Place, tenure: Tenure) -> Self {
        let lines = Arc::clone(lines);
        Self {
            lines,
            place,
            tenure,
            rounds: 0,
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// `None` where the turn was taken away.
    fn change<T>(&self, change: impl FnOnce(&mut Line) -> T) -> Option<T> {
        let lines = &self.lines;
        lines.with_turn(&self.place, self.tenure.ticket, change)
    }

    /// Says that the nodes are asked now, for `timeout` at most. False where the turn was taken away
    /// meanwhile.
    pub(crate) fn attempt(&self, timeout: Duration) -> bool {
        let due = self.lines.due(timeout);
        self.change(|line| line.attempt(due)).is_some()
    }

    /// Says that a break goes on for `timeout` at most, and for so many rounds. Whoever wants to know
    /// what the nodes say still does.
    pub(crate) fn gives_way(&mut self, timeout: Duration, rounds: u32) {
        self.rounds = rounds;
        let due = self.lines.due(timeout);
        self.change(|line| line.gives_way(due));
    }

    /// Says what the nodes said to an attempt, for those who want to know.
    pub(crate) fn refused(&mut self, began: Moment, error: AcquireError) {
        if let AcquireError::Contended(contended) = &error {
            let who = contended.holding.owner().map(mark);
            self.tenure.cohort.met_rivals(who);
        }
        let error = Arc::new(error);
        if let Some((concerned, _before)) = self.change(|line| line.refused(began, error)) {
            concerned.into_iter().for_each(wake);
        }
    }

    /// Says that others have the lock, who came in a break.
    pub(crate) fn met_rivals(&mut self) {
        self.tenure.cohort.met_rivals(None);
    }

    /// Says that nobody came in a break.
    pub(crate) fn nobody_came(&mut self) {
        self.tenure.cohort.nobody_came();
    }

    /// Says that another one's lock has come free. How long a break is now for those who had it longer
    /// ago; none once the next attempt is `due` anyway.
    pub(crate) fn comes_free(&mut self, due: Moment) -> u32 {
        let rounds = self.tenure.cohort.comes_free();
        if due <= self.lines.context.now() {
            return 0;
        }
        rounds
    }

    /// Waits until `until`, until `free` completes, or until somebody else in line wants the nodes
    /// to be asked. Whether `free` completed.
    pub(crate) async fn pause<F>(&self, until: Moment, mut free: Pin<&mut F>) -> bool
    where
        F: Future<Output = ()>,
    {
        let due = until.saturating_add(self.lines.grace());
        let wanted = poll_fn(|context| {
            if free.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            let mut own = Some(context.waker().clone());
            match self.change(|line| line.pause(due, &mut own)) {
                // Or it is somebody else's turn by now.
                None | Some(Err(IsWanted)) => Poll::Ready(false),
                Some(Ok(())) => Poll::Pending,
            }
        });
        let clock = self.lines.context.clock();
        before(clock, until, wanted).await.unwrap_or(false)
    }

    /// Says that the lock was acquired on these terms. What is returned is for the lease to keep.
    pub(crate) fn hold(mut self, terms: &Terms, token: &OwnerToken) -> Tenure {
        let (until, token) = (terms.deadline, token.clone());
        let concerned = self.change(|line| line.hold(until, token));
        concerned.into_iter().flatten().for_each(wake);
        let cohort = &mut self.tenure.cohort;
        let took = terms.granted_at.saturating_since(terms.acquired_at);
        cohort.holds(self.lines.context.now(), took);
        let ticket = std::mem::replace(&mut self.tenure.ticket, 0);
        Tenure {
            ticket,
            ..self.tenure
        }
    }

    /// The lease ends, and was not lost: the next in line gets what is on the nodes, unless others
    /// have to have their chance now. Returns it where nobody gets it: it is to be released, and
    /// then the turn to be [ended](Self::end).
    pub(crate) fn hand_over(&mut self, inheritance: Inheritance) -> Option<Inheritance> {
        let cohort = self.tenure.cohort;
        let now = self.lines.context.now();
        if cohort.is_over(&self.lines.handover, now) {
            return Some(inheritance);
        }
        let mut inheritance = Some(inheritance);
        self.pass(Otherwise::Stay, || Legacy {
            inheritance: inheritance.take(),
            cohort: cohort.goes_on(),
            rounds: 0,
        });
        inheritance
    }

    /// The lease was released. Whoever is next lets others go first.
    pub(crate) fn end(mut self) {
        let cohort = self.tenure.cohort;
        let now = self.lines.context.now();
        let alone = cohort.is_alone(&self.lines.handover, now);
        let otherwise = alone.map_or(Otherwise::Forget, |(rounds, cohort)| {
            let until = now.saturating_add(cohort.lull());
            Otherwise::Keep(Quiet {
                until,
                rounds,
                cohort,
            })
        });
        self.pass(otherwise, || {
            let (rounds, cohort) = cohort.takes_break();
            Legacy {
                inheritance: None,
                cohort,
                rounds,
            }
        });
    }

    /// Passes the turn on with all that came with it.
    pub(super) fn decline(&mut self, legacy: Legacy) {
        self.pass(Otherwise::Forget, || legacy);
    }

    fn pass(&mut self, otherwise: Otherwise, legacy: impl FnOnce() -> Legacy) {
        let ticket = self.tenure.ticket;
        if ticket != 0 {
            let due = self.lines.due(self.lines.context.node_timeout);
            let lines = &self.lines;
            let is_passed = lines.pass(&self.place, ticket, due, otherwise, legacy);
            if is_passed || !matches!(otherwise, Otherwise::Stay) {
                self.tenure.ticket = 0;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let cohort = self.tenure.cohort.anew();
        let rounds = self.rounds;
        self.pass(Otherwise::Forget, || Legacy {
            inheritance: None,
            cohort,
            rounds,
        });
    }
}

impl Tenure {
    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }
}
