//! The turn of a caller, from when it may talk to the nodes until its lease is over.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::client::ClientShared;
use crate::environment::Moment;
use crate::error::AcquireError;
use crate::handover::Inheritance;
use crate::race::before;
use crate::timekeeper::wake;
use crate::token::OwnerToken;

use super::line::{IsWanted, Line};
use super::{Legacy, Place};

/// How long other processes are given at least: a waiter there has to hear of the release and to ask
/// the nodes.
const SHORTEST_BREAK: Duration = Duration::from_millis(1);
/// And at most, however slow the nodes were when the lock was acquired.
const LONGEST_BREAK: Duration = Duration::from_millis(10);

/// The right to talk to the nodes for a line. Dropping it passes it on.
pub(crate) struct Turn {
    client: Arc<ClientShared>,
    place: Place,
    tenure: Tenure,
}

/// A turn without its place: what a lease keeps of it, which knows its place.
pub(crate) struct Tenure {
    /// Zero once it was passed on.
    ticket: u64,
    cohort: Cohort,
    /// Other clients were seen to hold the lock.
    has_rivals: bool,
}

/// Callers of one process who were given the lock one after another, without a chance for others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cohort {
    /// Hand-overs so far.
    handed_over: u32,
    /// How long it last took to get it from the nodes, in µs.
    took: u32,
    /// When the first of them got it.
    since: Option<Moment>,
}

impl Turn {
    pub(super) fn new(
        client: &Arc<ClientShared>,
        place: Place,
        ticket: u64,
        cohort: Cohort,
    ) -> Self {
        let tenure = Tenure {
            ticket,
            cohort,
            has_rivals: false,
        };
        Self::of(client, place, tenure)
    }

    /// The turn that a lease at `place` has kept.
    pub(crate) fn of(client: &Arc<ClientShared>, place: Place, tenure: Tenure) -> Self {
        let client = Arc::clone(client);
        Self {
            client,
            place,
            tenure,
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// `None` where the turn was taken away.
    fn change<T>(&self, change: impl FnOnce(&mut Line) -> T) -> Option<T> {
        let lines = &self.client.lines;
        lines.with_turn(&self.place, self.tenure.ticket, change)
    }

    /// Says that the nodes are asked now, for `timeout` at most. False where the turn was taken away
    /// meanwhile.
    pub(crate) fn attempt(&self, timeout: Duration) -> bool {
        let due = self.client.due(timeout);
        self.change(|line| line.attempt(due)).is_some()
    }

    /// Says what the nodes said to an attempt, for those who want to know.
    pub(crate) fn refused(&mut self, began: Moment, error: AcquireError) {
        self.tenure.has_rivals |= matches!(error, AcquireError::Contended(_));
        // Whatever is given now was taken from others.
        self.tenure.cohort = Cohort::default();
        let concerned = self.change(|line| line.refused(began, error));
        concerned.into_iter().flatten().for_each(wake);
    }

    /// Waits until `until`, until `free` completes, or until somebody else in line wants the nodes
    /// to be asked.
    pub(crate) async fn pause<F>(&self, until: Moment, mut free: Pin<&mut F>)
    where
        F: Future<Output = ()>,
    {
        let due = until.saturating_add(self.client.grace());
        let wanted = poll_fn(|context| {
            if free.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            match self.change(|line| line.pause(due, context.waker())) {
                Some(Err(IsWanted)) => Poll::Ready(()),
                None | Some(Ok(_)) => Poll::Pending,
            }
        });
        let clock = &*self.client.environment.clock;
        before(clock, until, wanted).await;
    }

    /// Says that the lock was acquired, in an attempt that `took` so long, if it took one, and is
    /// valid until `until`. What is returned is for the lease to keep.
    pub(crate) fn hold(
        mut self,
        until: Moment,
        token: &OwnerToken,
        took: Option<Duration>,
    ) -> Tenure {
        let concerned = self.change(|line| line.hold(until, token.clone()));
        concerned.into_iter().flatten().for_each(wake);
        let cohort = &mut self.tenure.cohort;
        if let Some(took) = took {
            cohort.took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        }
        let now = || self.client.environment.now();
        cohort.since.get_or_insert_with(now);
        let ticket = std::mem::replace(&mut self.tenure.ticket, 0);
        Tenure {
            ticket,
            ..self.tenure
        }
    }

    /// The lease ends, and was not lost: the next in line gets what is on the nodes, unless others
    /// have to have their chance now. Returns it where nobody gets it, and it is to be released.
    pub(crate) fn hand_over(mut self, inheritance: Inheritance) -> Option<Inheritance> {
        let now = self.client.environment.now();
        let cohort = self.tenure.cohort;
        let limits = &self.client.handover;
        let lasted = cohort
            .since
            .map_or(Duration::ZERO, |since| now.saturating_since(since));
        let goes_on = cohort.handed_over < limits.most && lasted < limits.longest;
        let took = Duration::from_micros(cohort.took.into());
        let others_have = (took * 3).clamp(SHORTEST_BREAK, LONGEST_BREAK);
        let others_until = now.saturating_add(others_have);
        let mut inheritance = Some(inheritance);
        self.pass(self.tenure.has_rivals.then_some(others_until), || {
            if goes_on {
                Legacy {
                    inheritance: inheritance.take(),
                    cohort: Cohort {
                        handed_over: cohort.handed_over + 1,
                        ..cohort
                    },
                    not_before: None,
                }
            } else {
                Legacy {
                    not_before: Some(others_until),
                    ..Legacy::default()
                }
            }
        });
        inheritance
    }

    /// Passes the turn on with all that came with it.
    pub(super) fn decline(&mut self, legacy: Legacy) {
        self.pass(None, || legacy);
    }

    fn pass(&mut self, quiet: Option<Moment>, legacy: impl FnOnce() -> Legacy) {
        let ticket = std::mem::replace(&mut self.tenure.ticket, 0);
        if ticket != 0 {
            let due = self.client.due(self.client.node_timeout);
            self.client
                .lines
                .pass(&self.place, ticket, due, quiet, legacy);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pass(None, Legacy::default);
    }
}

impl Tenure {
    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }
}
