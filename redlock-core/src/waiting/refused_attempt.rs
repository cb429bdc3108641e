//! A refused attempt: what becomes of the caller's wait, and the error that the votes make.

use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{AcquireError, Contended, NodeReport, Shortage, TooLate, Unavailable};
use crate::kinds::any_kind;
use crate::model::resource::Resource;
use crate::node::{Holding, NodeSet, Remaining, Vote};
use crate::quorum::lock_protocol::LockProtocol;
use crate::quorum::round::{Goal, Round, seats_in};
use crate::quorum::{Tally, majority};

use super::NoTurn;
use super::budget::RetryBudget;
use super::quorum_watch::QuorumWatch;

/// The answers of the nodes, by seat.
pub(crate) type VotesBySeat = Vec<Option<Vote>>;

/// A failed attempt, whose release has been sent to every node, or a break in which another process came. The callers in
/// line share it.
///
/// An attempt is decided as soon as it cannot win. With one of three nodes down, that is at the first
/// vote "held", and a majority has said "held" only with the second. So the error is made of the votes
/// that are there when a caller gives up, and not of those that decided the attempt.
pub(crate) struct RefusedAttempt {
    pub(crate) context: Arc<Context>,
    pub(crate) nodes: NodeSet,
    pub(crate) protocol: Arc<dyn LockProtocol>,
    /// The names that were wanted.
    pub(crate) resource: Resource,
    /// True for a break, in which nothing was to be acquired.
    pub(crate) is_break: bool,
    pub(crate) votes: Arc<Round>,
    pub(crate) release: Option<Arc<Round>>,
    /// The moment at which the attempt began.
    pub(crate) began: Moment,
    /// The time that the attempt gave the nodes.
    pub(crate) timeout: Duration,
    /// A majority granted, but left only this validity.
    pub(crate) too_late: Option<TooLate>,
    /// A majority granted, but did not agree on one fencing token.
    pub(crate) disagreement: Option<VotesBySeat>,
}

impl RefusedAttempt {
    /// The moment until which a missing vote is waited for.
    pub(super) fn ends(&self) -> Moment {
        self.began.saturating_add(self.timeout)
    }

    /// True if the votes are not the reason, so that further votes change nothing.
    fn is_decided_otherwise(&self) -> bool {
        self.too_late.is_some() || self.disagreement.is_some()
    }

    /// True if a majority has said that another client has the lock.
    pub(crate) fn is_held(&self) -> bool {
        !self.is_decided_otherwise() && self.votes.tally().is_contended()
    }

    /// True if no majority has answered, and none will have by the attempt's end.
    pub(crate) fn is_unanswered(&self, now: Moment) -> bool {
        let tally = self.votes.tally();
        let is_over = now >= self.ends() && !tally.is_free_of_us();
        !self.is_decided_otherwise() && (tally.is_unanswered() || is_over)
    }

    /// True if the error is final: a majority has answered, or none will have by the attempt's end.
    pub(super) fn is_settled(&self, now: Moment) -> bool {
        let tally = self.votes.tally();
        self.is_decided_otherwise()
            || tally.is_contended()
            || tally.is_won()
            || tally.is_unanswered()
            || now >= self.ends()
    }

    fn most_against(&self) -> usize {
        self.protocol.most_rival_votes(&self.votes.answers())
    }

    /// True if the votes name different holders and no holder is known to have a majority. If all votes
    /// name one holder, the lock is held, however few nodes voted.
    pub(crate) fn is_divided(&self) -> bool {
        let most = self.most_against();
        let voted = seats_in(self.votes.seats().voted);
        most < voted && most < majority(self.nodes.len())
    }

    /// True if a node says that others go first, although no holder there excludes us.
    pub(crate) fn is_behind_others(&self) -> bool {
        let answers = self.votes.answers();
        let mut holdings = answers.iter().flatten().filter_map(Vote::holding);
        holdings.any(|holding| holding.obstacle.is_advice())
    }

    /// Watches for the end of another client's lock, or of any one of several. All nodes that have not failed are
    /// asked, also nodes whose votes are missing: if one of them fails later, the others suffice.
    pub(crate) fn watches(&self) -> Vec<QuorumWatch> {
        let tally = self.votes.tally();
        let may_vote = tally.configured - tally.failed;
        if tally.held == 0 || may_vote < majority(tally.configured) {
            return Vec::new();
        }
        let (clock, nodes) = (&self.context.environment.clock, &self.nodes);
        let watch = |keys: &_| QuorumWatch::after_attempt(clock, nodes, keys, &self.votes);
        self.protocol.watched_keys().iter().map(watch).collect()
    }

    /// True if the votes are split so that no client has the lock and none can have won it. Waits for
    /// the votes that this needs, within the attempt's timeout.
    pub(crate) async fn is_split(&self) -> bool {
        let needed = majority(self.nodes.len());
        if self.most_against() >= needed {
            return false;
        }
        self.votes.set_goal(Goal::All);
        before(self.context.clock(), self.ends(), self.votes.decided()).await;
        // A node that did not answer may have granted the lock to any client.
        let tally = self.votes.tally();
        let unknown = tally.pending() + tally.failed;
        tally.is_contended() && self.most_against() + unknown < needed
    }

    /// The error for the caller, if no further attempt follows. Waits until the nodes that granted the
    /// attempt have undone it, and asks one of the refusing nodes for the holder's remaining time. It
    /// waits for votes until the attempt's timeout has passed, and for the other answers as long again.
    /// It never waits beyond the caller's own limit.
    ///
    /// If this future is dropped, only the error is lost.
    pub(crate) async fn conclude(&self, budget: &RetryBudget<'_>) -> AcquireError {
        let clock = self.context.clock();
        let bounded = |until: Moment| budget.end.map_or(until, |end| until.min(end));

        // An attempt is decided once it is lost. The reason may need another vote.
        self.votes.set_goal(Goal::Contention);
        before(clock, bounded(self.ends()), self.votes.decided()).await;
        let now = clock.now();
        let elapsed = now.saturating_since(self.began);
        let inspection = self.inspect();
        let undone = async {
            if let Some(round) = &self.release {
                // Only nodes that granted: nodes that hang would take the whole timeout.
                round.set_goal(Goal::Seats(self.votes.seats().granted));
                round.decided().await;
            }
            if let Some(round) = &inspection {
                round.decided().await;
            }
        };
        let until = now.saturating_add(self.timeout);
        before(clock, bounded(until), undone).await;
        // Callers in line may keep the votes. This caller waits for them no longer.
        self.votes.forget_caller();

        let inspected = inspection.and_then(|round| round.answers().pop().flatten());
        self.error(inspected, elapsed, budget)
    }

    /// Asks a refusing node for the holder's remaining time. The question follows the release on the
    /// connection, so the answer costs no round trip of its own.
    fn inspect(&self) -> Option<Arc<Round>> {
        if self.protocol.permits().is_some() {
            // The refusals have told the time.
            return None;
        }
        let answers = self.votes.answers();
        let is_held = |answer: &Option<Vote>| matches!(answer, Some(Vote::Held(_)));
        let seat = answers.iter().position(is_held)?;
        let round = Round::new(1, any_kind::peek(self.protocol.keys()), Goal::All);
        round.send_to(&*self.nodes[seat], 0);
        Some(round)
    }

    /// The error by the votes so far, for a caller that gives up now. The attempt took `elapsed`. `inspected` is the answer
    /// of the node that was asked for the holder's time.
    fn error(
        &self,
        inspected: Option<Vote>,
        elapsed: Duration,
        budget: &RetryBudget<'_>,
    ) -> AcquireError {
        let (attempts, now) = (budget.attempts, self.context.now());
        let waited = now.saturating_since(budget.began);
        let votes = match &self.disagreement {
            Some(votes) => votes.clone(),
            None => self.votes.answers_now(&self.nodes),
        };
        let tally = Tally::of(&votes);
        // What the first refusing node named: a holder, if a node names one; otherwise who goes first.
        let holdings = votes.iter().flatten().filter_map(Vote::holding);
        let first = holdings.min_by_key(|holding| holding.obstacle.is_advice());
        let is_held = !self.is_decided_otherwise() && tally.is_contended();
        if let Some(mut holding) = first.filter(|_| is_held).cloned() {
            // A refusal says more than `inspected` if others go first, or if the key is no string.
            if holding.remaining == Remaining::Unknown
                && !holding.obstacle.is_advice()
                && let Some(Vote::Held(inspected)) = inspected
            {
                holding = inspected;
            }
            let names = self.resource.names();
            let place = holding.place.map(usize::from).filter(|_| names.len() > 1);
            let name = place.and_then(|place| names.clone().nth(place));
            return AcquireError::Contended(Contended {
                name: name.map(Resource::from),
                holding,
                attempts,
                waited,
                waiters: 0,
                shortage: self.protocol.permits().map(|count| Shortage {
                    count,
                    is_split: self.most_against() < majority(self.nodes.len()),
                }),
            });
        }
        let names = self.nodes.iter().map(|node| node.name());
        let nodes = NodeReport::of_round(names, votes, u64::MAX, elapsed, self.timeout);
        let (all, needed) = (tally.configured, majority(tally.configured));
        AcquireError::Unavailable(Unavailable {
            // The votes of a majority may have arrived after the attempt's end.
            too_late: self
                .too_late
                .or_else(|| tally.is_won().then_some(TooLate::Timeout(self.timeout))),
            attempts,
            gave_up_early: budget.gives_up_early(now),
            ..Unavailable::in_one_attempt(all, needed, nodes, waited)
        })
    }
}

impl NoTurn {
    /// The error for a caller in line that gives up `now`.
    pub(crate) fn error(
        self,
        nodes: &NodeSet,
        now: Moment,
        budget: &RetryBudget<'_>,
    ) -> AcquireError {
        let waited = now.saturating_since(budget.began);
        match self {
            Self::Held(token, until) => {
                let mut holding = Holding::by(token.as_bytes());
                holding.remaining = Remaining::Expires(until.saturating_since(now));
                AcquireError::Contended(Contended {
                    waited,
                    ..Contended::by(holding)
                })
            }
            Self::Refused(refusal) => {
                refusal.error(None, now.saturating_since(refusal.began), budget)
            }
            Self::Full(standing) => AcquireError::Contended(Contended {
                waiters: standing,
                ..Contended::by(Holding::default())
            }),
            Self::Nothing => {
                // No node is at fault: this caller asked none.
                let names = nodes.iter().map(|node| node.name());
                let (all, none) = (nodes.len(), vec![None; nodes.len()]);
                let nodes = NodeReport::of_round(names, none, 0, Duration::ZERO, Duration::MAX);
                AcquireError::Unavailable(Unavailable {
                    attempts: 0,
                    ..Unavailable::in_one_attempt(all, majority(all), nodes, waited)
                })
            }
        }
    }
}
