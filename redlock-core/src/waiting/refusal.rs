//! A refused attempt, and the error that its votes make.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::error::Shortage;
use crate::error::{AcquireError, Contended, NodeReport, TooLate, Unavailable};
use crate::model::resource::Resource;
use crate::node::{Holding, NodeSet, Remaining, Vote};
use crate::quorum::kind::Kind;
use crate::quorum::round::Round;
use crate::quorum::{Tally, majority};

/// The answers of the nodes, by seat.
pub(crate) type Answers = Vec<Option<Vote>>;

/// What the error of a refused attempt is made of. The callers in line share it.
///
/// An attempt is decided as soon as it cannot win. With one of three nodes down, that is at the first
/// vote "held", and a majority has said "held" only with the second. So the error is made of the votes
/// that are there when a caller gives up, and not of those that decided the attempt.
pub(crate) struct Refusal {
    pub(crate) nodes: NodeSet,
    /// The names that were wanted.
    pub(crate) resource: Resource,
    pub(crate) acquisition: Arc<Round>,
    /// The moment at which the attempt began.
    pub(crate) began: Moment,
    /// The time that the attempt gave the nodes.
    pub(crate) timeout: Duration,
    /// A majority granted, but left only this validity.
    pub(crate) too_late: Option<TooLate>,
    /// A majority granted, but did not agree on one fencing token.
    pub(crate) disagreement: Option<Answers>,
    pub(crate) kind: Arc<dyn Kind>,
}

impl Refusal {
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
        !self.is_decided_otherwise() && self.acquisition.tally().is_contended()
    }

    /// True if no majority has answered, and none will have by the attempt's end.
    pub(crate) fn is_unanswered(&self, now: Moment) -> bool {
        let tally = self.acquisition.tally();
        let is_over = now >= self.ends() && !tally.is_free_of_us();
        !self.is_decided_otherwise() && (tally.is_unanswered() || is_over)
    }

    /// True if the error is final: a majority has answered, or none will have by the attempt's end.
    pub(super) fn is_settled(&self, now: Moment) -> bool {
        let tally = self.acquisition.tally();
        self.is_decided_otherwise()
            || tally.is_contended()
            || tally.is_won()
            || tally.is_unanswered()
            || now >= self.ends()
    }

    /// What the first refusing node named, if a majority has refused: a holder, if a node names one;
    /// otherwise who goes first.
    pub(super) fn held_by(&self) -> Option<Holding> {
        self.held(&self.votes())
    }

    fn held(&self, votes: &Answers) -> Option<Holding> {
        if self.is_decided_otherwise() || !Tally::of(votes).is_contended() {
            return None;
        }
        let holdings = votes.iter().flatten().filter_map(Vote::holding);
        let first = holdings.min_by_key(|holding| holding.obstacle.is_advice());
        first.cloned()
    }

    /// The votes so far.
    fn votes(&self) -> Answers {
        match &self.disagreement {
            Some(votes) => votes.clone(),
            None => self.acquisition.answers_now(&self.nodes),
        }
    }

    /// The error by the votes so far, after `attempts` attempts in the time `waited`. The attempt took
    /// `elapsed`. `inspected` is the answer of the node that was asked for the holder's time.
    pub(crate) fn error(
        &self,
        inspected: Option<Vote>,
        elapsed: Duration,
        (attempts, waited): (u32, Duration),
    ) -> AcquireError {
        let votes = self.votes();
        if let Some(mut holding) = self.held(&votes) {
            // That others go first, or that the key is no string, says more.
            if holding.remaining == Remaining::Unknown
                && !holding.obstacle.is_advice()
                && let Some(Vote::Held(inspected)) = inspected
            {
                holding = inspected;
            }
            let names = self.resource.names();
            let place = holding.place().filter(|_| names.len() > 1);
            let name = place.and_then(|place| names.clone().nth(place));
            return AcquireError::Contended(Contended {
                name: name.map(Resource::from),
                holding,
                attempts,
                waited,
                waiters: 0,
                shortage: self.kind.count().map(|count| self.shortage(count)),
            });
        }
        let tally = Tally::of(&votes);
        let names = self.nodes.iter().map(|node| node.name());
        AcquireError::Unavailable(Unavailable {
            granted: tally.granted,
            needed: majority(tally.configured),
            nodes: NodeReport::of_round(names, votes, elapsed, self.timeout),
            // The votes of a majority may have arrived after the attempt's end.
            too_late: self
                .too_late
                .or_else(|| tally.is_won().then_some(TooLate::Timeout(self.timeout))),
            attempts,
            waited,
        })
    }

    /// What the nodes say of several locks that are alike.
    fn shortage(&self, count: u16) -> Shortage {
        let refusing = self.kind.most_against(&self.acquisition.answers());
        let is_split = refusing < majority(self.nodes.len());
        Shortage { count, is_split }
    }

    /// The error by the votes until `now`, for a caller in line that gives up after `waited`.
    pub(crate) fn for_waiter(&self, now: Moment, waited: Duration) -> AcquireError {
        self.error(None, now.saturating_since(self.began), (0, waited))
    }
}
