//! One question to all nodes, and the votes that came back.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::node::{Answer, Node, NodeError, NodeErrorKind, Reply};
use crate::operation::SharedOperation;
use crate::quorum::Tally;
use crate::timekeeper::wake;

/// When a round counts as decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// A majority granted, or no longer can.
    Majority,
    /// No majority can, and it is certain that someone else holds the lock; or everybody answered.
    Verdict,
    /// A majority is known not to hold our key.
    FreeOfUs,
    /// Everybody answered.
    All,
    /// These answered: bit n stands for seat n.
    Seats(u64),
}

impl Goal {
    fn is_met(self, state: &State) -> bool {
        let tally = &state.tally;
        // No answer can change anything any more.
        tally.pending() == 0
            || match self {
                Self::Majority => tally.is_won() || tally.is_out_of_reach(),
                Self::Verdict => tally.is_won() || tally.is_contended() && tally.is_out_of_reach(),
                Self::FreeOfUs => tally.is_free_of_us(),
                Self::All => false,
                Self::Seats(seats) => seats & !state.answered == 0,
            }
    }
}

/// The votes of one round. Nodes write into it, each at its own seat; one caller waits on it.
///
/// It outlives the decision: stragglers go on voting, and whoever cleans up reads what they said.
pub(crate) struct Round {
    state: Mutex<State>,
}

struct State {
    answers: Vec<Option<Answer>>,
    /// The seats that answered, as far as they fit.
    answered: u64,
    tally: Tally,
    goal: Goal,
    /// The caller that waits in [`Decided`], to be woken when the goal is met.
    waiting: Option<Waker>,
}

impl Round {
    pub(crate) fn new(nodes: usize, goal: Goal) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                answers: vec![None; nodes],
                answered: 0,
                tally: Tally {
                    configured: nodes,
                    ..Tally::default()
                },
                goal,
                waiting: None,
            }),
        })
    }

    /// Sends `operation` to each node for which `wanted` holds; the others count as not holding
    /// our key. Returns the round that collects the answers.
    pub(crate) fn start(
        nodes: &[Arc<dyn Node>],
        operation: &SharedOperation,
        goal: Goal,
        wanted: impl Fn(usize) -> bool,
    ) -> Arc<Self> {
        let round = Self::new(nodes.len(), goal);
        for (seat, node) in nodes.iter().enumerate() {
            let reply = Reply::new(Arc::clone(&round), seat);
            if wanted(seat) {
                node.submit(Arc::clone(operation), reply);
            } else {
                reply.answer(Answer::Absent);
            }
        }
        round
    }

    /// Records one vote. A second vote of the same seat is ignored.
    pub(crate) fn vote(&self, seat: usize, answer: Answer) {
        let waiting = {
            let mut state = self.lock();
            if state.answers[seat].is_some() {
                return;
            }
            state.tally.count(&answer);
            state.answers[seat] = Some(answer);
            state.answered |= bit(seat);
            if state.goal.is_met(&state) {
                state.waiting.take()
            } else {
                None
            }
        };
        // Outside the lock: a waker may run the caller at once.
        if let Some(waker) = waiting {
            wake(waker);
        }
    }

    /// Completes when the goal is met. Without a bound of its own: the caller has one.
    pub(crate) fn decided(&self) -> Decided<'_> {
        Decided { round: self }
    }

    /// Waits for more than was first asked for.
    pub(crate) fn set_goal(&self, goal: Goal) {
        self.lock().goal = goal;
    }

    pub(crate) fn tally(&self) -> Tally {
        self.lock().tally
    }

    /// The votes so far, by seat.
    pub(crate) fn answers(&self) -> Vec<Option<Answer>> {
        self.lock().answers.clone()
    }

    /// The seats that granted so far, for [`Goal::Seats`].
    pub(crate) fn granted_seats(&self) -> u64 {
        self.seats_with(|answer| matches!(answer, Answer::Granted { .. }))
    }

    fn seats_with(&self, wanted: impl Fn(&Answer) -> bool) -> u64 {
        let state = self.lock();
        let seats = state.answers.iter().enumerate();
        seats
            .filter(|(_, answer)| answer.as_ref().is_some_and(&wanted))
            .fold(0, |seats, (seat, _)| seats | bit(seat))
    }

    /// The seats that found our key gone so far, as far as they fit.
    pub(crate) fn absent_seats(&self) -> u64 {
        self.seats_with(|answer| matches!(answer, Answer::Absent))
    }

    /// How many of `nodes` granted, and may not have forgotten it since.
    pub(crate) fn vouched(&self, nodes: &[Arc<dyn Node>]) -> usize {
        let state = self.lock();
        let votes = state.answers.iter().zip(nodes);
        votes
            .filter(|(answer, node)| is_current_grant(answer.as_ref(), &***node))
            .count()
    }

    /// The votes so far, without those of nodes that may have forgotten them since.
    pub(crate) fn answers_now(&self, nodes: &[Arc<dyn Node>]) -> Vec<Option<Answer>> {
        let mut answers = self.answers();
        forget_stale(&mut answers, nodes);
        answers
    }

    /// Whether a release has anything to undo at `seat`: not where the operation certainly never
    /// reached the node.
    pub(crate) fn may_have_reached(&self, seat: usize) -> bool {
        !matches!(&self.lock().answers[seat], Some(Answer::Failed(error)) if !error.was_sent())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Turns the grants of nodes that may have forgotten them since into votes against.
pub(crate) fn forget_stale(answers: &mut [Option<Answer>], nodes: &[Arc<dyn Node>]) {
    for (answer, node) in answers.iter_mut().zip(nodes) {
        if matches!(answer, Some(Answer::Granted { .. }))
            && !is_current_grant(answer.as_ref(), &**node)
        {
            let detail = "it granted, and may have forgotten it since";
            let error = NodeError::sent(NodeErrorKind::Quarantined, detail);
            *answer = Some(Answer::Failed(error));
        }
    }
}

fn is_current_grant(answer: Option<&Answer>, node: &dyn Node) -> bool {
    matches!(answer, Some(Answer::Granted { epoch, .. }) if *epoch == node.epoch())
}

/// Seats beyond the 64th have none: nobody waits for them in particular.
pub(crate) fn bit(seat: usize) -> u64 {
    u32::try_from(seat)
        .ok()
        .and_then(|seat| 1_u64.checked_shl(seat))
        .unwrap_or(0)
}

/// See [`Round::decided`].
pub(crate) struct Decided<'a> {
    round: &'a Round,
}

impl Future for Decided<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.round.lock();
        if state.goal.is_met(&state) {
            return Poll::Ready(());
        }
        match &mut state.waiting {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::node::Holding;

    fn is_decided(round: &Round) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(&mut round.decided()).poll(&mut context).is_ready()
    }

    fn held() -> Answer {
        Answer::Held(Holding::default())
    }

    #[test]
    fn decided_at_a_majority_and_not_before() {
        let round = Round::new(5, Goal::Majority);
        round.vote(4, Answer::GRANTED);
        round.vote(0, held());
        round.vote(2, Answer::GRANTED);
        assert!(!is_decided(&round));
        round.vote(1, Answer::GRANTED);
        assert!(is_decided(&round) && round.tally().is_won());
    }

    #[test]
    fn decided_as_soon_as_a_majority_is_out_of_reach() {
        let round = Round::new(4, Goal::Majority);
        round.vote(0, Answer::GRANTED);
        round.vote(1, held());
        assert!(!is_decided(&round));
        round.vote(2, held());
        assert!(is_decided(&round) && !round.tally().is_won());
    }

    #[test]
    fn a_node_votes_once() {
        let round = Round::new(3, Goal::Majority);
        round.vote(0, Answer::GRANTED);
        round.vote(0, Answer::GRANTED);
        assert_eq!(round.tally().granted, 1);
    }

    #[test]
    fn a_reply_that_is_dropped_is_a_vote_against() {
        let round = Round::new(1, Goal::Majority);
        drop(Reply::new(Arc::clone(&round), 0));
        assert!(is_decided(&round));
        assert_eq!(round.tally().failed, 1);
        assert!(
            round.may_have_reached(0),
            "nobody knows, so it has to be undone"
        );
    }

    #[test]
    fn what_was_never_sent_needs_no_release() {
        let round = Round::new(2, Goal::Majority);
        let refused = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        round.vote(0, Answer::Failed(refused));
        assert!(!round.may_have_reached(0) && round.may_have_reached(1));
    }
}
