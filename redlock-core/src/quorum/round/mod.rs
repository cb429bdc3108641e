//! Rounds: one call to all nodes, and the collection of their votes.

use std::future::{Future, poll_fn};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::timeout::before;
use crate::env::{Clock, Moment};
use crate::node::{Call, Node, NodeError, NodeErrorKind, Submission, Vote, VoteSink, bit};
use crate::panics::{caught, wake};

pub(crate) use super::votes::{MOST_NODES, Seats, seats_in};

use super::votes::{RoundVotes, is_current_grant};
use super::{Tally, majority};

/// The condition under which a round is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// A majority granted, or a majority of grants is impossible.
    Majority,
    /// A majority granted, or all nodes answered, or another client certainly holds the lock. The last case requires
    /// that a majority of grants is impossible.
    Contention,
    /// A majority answered. If the call is a release, our key is gone from these nodes then.
    MajorityAnswered,
    /// A majority answered that a key is held, or such a majority is impossible.
    MajorityHeld,
    /// A majority answered that no key exists, or that the keys hold one value.
    Known,
    /// All nodes answered.
    All,
    /// All seats of this set answered. Bit n is seat n.
    Seats(u64),
    /// A majority of all nodes granted, counting only this set, or such a majority is impossible.
    MajorityOf(u64),
    /// A seat outside of this set has voted.
    OtherThan(u64),
}

impl Goal {
    fn is_met(self, votes: &RoundVotes) -> bool {
        let tally = votes.tally();
        // All nodes have answered, so the result is final.
        tally.pending() == 0
            || match self {
                Self::Majority => tally.is_won() || tally.is_out_of_reach(),
                Self::Contention => {
                    tally.is_won() || tally.is_contended() && tally.is_out_of_reach()
                }
                Self::MajorityAnswered => tally.has_majority_answered(),
                Self::MajorityHeld => {
                    let needed = majority(tally.configured);
                    tally.held >= needed || tally.held + tally.pending() < needed
                }
                Self::Known => tally.absent.max(votes.held_alike()) >= majority(tally.configured),
                Self::All => false,
                Self::Seats(seats) => seats & !votes.seats().answered() == 0,
                Self::OtherThan(seats) => votes.voted() != seats,
                Self::MajorityOf(seats) => {
                    let (needed, votes) = (majority(tally.configured), votes.seats());
                    let lost = votes.answered() & !votes.granted;
                    seats_in(seats & votes.granted) >= needed || seats_in(seats & !lost) < needed
                }
            }
    }
}

/// The votes of one round. Each node writes its vote at its own seat, and one caller waits for the round.
///
/// A round lives on after its decision: stragglers still vote, and the code that cleans up reads their votes.
pub(crate) struct Round {
    call: Call,
    state: Mutex<RoundState>,
    /// The clock, and the moment after which a grant is late. Without a deadline, every grant is in time.
    straggler_deadline: OnceLock<(Arc<dyn Clock>, Moment)>,
}

struct RoundState {
    votes: RoundVotes,
    goal: Goal,
    /// The waker of the caller in [`Round::decided`], which is called when the goal is met.
    waiting: Option<Waker>,
}

impl RoundState {
    /// Keeps the caller's waker. Returns the waker that it replaces; drop that one outside of the mutex.
    fn keep(&mut self, waker: &Waker) -> Option<Waker> {
        match &self.waiting {
            Some(known) if known.will_wake(waker) => None,
            _ => self.waiting.replace(waker.clone()),
        }
    }
}

impl Round {
    /// Makes a round for `call`, which is sent later.
    pub(crate) fn new(nodes: usize, call: Call, goal: Goal) -> Arc<Self> {
        Arc::new(Self {
            call,
            state: Mutex::new(RoundState {
                votes: RoundVotes::new(nodes),
                goal,
                waiting: None,
            }),
            straggler_deadline: OnceLock::new(),
        })
    }

    /// Sends `call` to all nodes. Returns the round that collects the answers.
    pub(crate) fn start(nodes: &[Arc<dyn Node>], call: Call, goal: Goal) -> Arc<Self> {
        let round = Self::new(nodes.len(), call, goal);
        round.send(nodes, u64::MAX);
        round
    }

    /// Sends the call to the nodes at `seats`. Each other seat gets the vote `Absent` without being asked.
    pub(crate) fn send(self: &Arc<Self>, nodes: &[Arc<dyn Node>], seats: u64) {
        for (seat, node) in nodes.iter().enumerate() {
            if seats & bit(seat) == 0 {
                self.vote(seat, Vote::Absent);
            } else {
                self.send_to(&**node, seat);
            }
        }
    }

    /// Sends the call to the node at `seat`. If the node panics, the dropped submission counts as its answer, and the
    /// other nodes are still asked.
    pub(crate) fn send_to(self: &Arc<Self>, node: &dyn Node, seat: usize) {
        let submission = Submission::new(Arc::clone(self), seat);
        caught("a node", || node.submit(submission));
    }

    /// Sets the moment `until` after which grants are late. An attempt sets this deadline when it has ended, won or
    /// not, so all earlier grants are in time.
    pub(crate) fn set_straggler_deadline(&self, clock: Arc<dyn Clock>, until: Moment) {
        let _ = self.straggler_deadline.set((clock, until));
    }

    /// Waits until the goal is met. The caller has to set a time limit.
    pub(crate) fn decided(&self) -> impl Future<Output = ()> + '_ {
        poll_fn(|context| {
            // This variable is declared before the guard, so that the waker is dropped after the mutex is unlocked. The
            // waker may be the last handle of its task.
            let mut _replaced = None;
            let mut state = self.state.lock();
            if state.goal.is_met(&state.votes) {
                return Poll::Ready(());
            }
            _replaced = state.keep(context.waker());
            Poll::Pending
        })
    }

    /// Waits until the goal is met, but at most for `timeout`.
    pub(crate) async fn wait_until_decided(&self, clock: &dyn Clock, timeout: Duration) {
        let until = clock.now().saturating_add(timeout);
        before(clock, until, self.decided()).await;
    }

    /// Replaces the goal with a goal that needs more votes.
    pub(crate) fn set_goal(&self, goal: Goal) {
        self.state.lock().goal = goal;
    }

    pub(crate) fn tally(&self) -> Tally {
        self.state.lock().votes.tally()
    }

    /// Returns the votes so far, by seat.
    pub(crate) fn answers(&self) -> Vec<Option<Vote>> {
        self.state.lock().votes.answers()
    }

    /// Removes the waker of the waiting caller.
    pub(crate) fn forget_caller(&self) {
        let _waiting = self.state.lock().waiting.take();
    }

    /// Returns the seats by their votes so far.
    pub(crate) fn seats(&self) -> Seats {
        self.state.lock().votes.seats()
    }

    /// Returns the place of the permit that the most seats granted.
    pub(crate) fn choice(&self) -> Option<u16> {
        self.state.lock().votes.choice()
    }

    /// Returns the seats of `nodes` that granted the call and cannot have forgotten it since.
    pub(crate) fn vouching_seats(&self, nodes: &[Arc<dyn Node>]) -> u64 {
        self.state.lock().votes.vouching(nodes)
    }

    /// Returns the votes so far. Grants that their nodes may have forgotten since become failures.
    pub(crate) fn answers_now(&self, nodes: &[Arc<dyn Node>]) -> Vec<Option<Vote>> {
        let mut answers = self.answers();
        forget_stale(&mut answers, nodes);
        answers
    }
}

/// Turns each grant that its node may have forgotten since into a failure.
pub(crate) fn forget_stale(answers: &mut [Option<Vote>], nodes: &[Arc<dyn Node>]) {
    for (answer, node) in answers.iter_mut().zip(nodes) {
        if matches!(answer, Some(Vote::Granted { .. }))
            && !is_current_grant(answer.as_ref(), &**node)
        {
            let detail = "it granted the lock, and may have forgotten it since";
            let error = NodeError::sent(NodeErrorKind::Quarantined, detail);
            *answer = Some(Vote::Failed(error));
        }
    }
}

impl VoteSink for Round {
    fn call(&self) -> &Call {
        &self.call
    }

    /// Ignores a second vote of the same seat.
    fn vote(&self, seat: usize, vote: Vote) {
        let is_late = matches!(vote, Vote::Granted { .. })
            && self
                .straggler_deadline
                .get()
                .is_some_and(|(clock, until)| clock.now() > *until);
        let waiting = {
            let mut state = self.state.lock();
            if !state.votes.record(seat, vote, is_late) {
                return;
            }
            let is_met = state.goal.is_met(&state.votes);
            is_met.then(|| state.waiting.take()).flatten()
        };
        // Wake outside of the mutex, because a waker may run the caller at once.
        if let Some(waker) = waiting {
            wake(waker);
        }
    }
}

#[cfg(test)]
mod tests;
