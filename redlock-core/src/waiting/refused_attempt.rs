//! Refused attempts, and what their votes say so far.

use std::sync::Arc;

use crate::context::Context;
use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::TooLate;
use crate::model::resource::Resource;
use crate::model::token::OwnerId;
use crate::node::{NodeSet, Vote};
use crate::quorum::lock_protocol::LockProtocol;
use crate::quorum::majority;
use crate::quorum::round::{Goal, Round, seats_in};

use super::budget::Window;
use super::quorum_watch::QuorumWatch;
use super::rivals::majority_owner;

/// The answers of the nodes, by seat.
pub(crate) type VotesBySeat = Vec<Option<Vote>>;

/// The lock that a caller seeks, and the nodes that decide on it.
#[derive(Clone)]
pub(crate) struct SoughtLock {
    pub(crate) context: Arc<Context>,
    pub(crate) nodes: NodeSet,
    pub(crate) protocol: Arc<dyn LockProtocol>,
    /// The names that the caller wants, as in the request.
    pub(crate) resource: Resource,
}

/// A failed attempt, or a break in which another process came. The release of a failed attempt has been sent. The
/// callers in line share the refused attempt.
///
/// An attempt is decided as soon as it can no longer win. With one of three nodes down, the first vote "held" decides
/// the attempt, but only the second one shows that a majority said "held". So the error depends on the votes that have
/// arrived when a caller gives up, and not on the votes that decided the attempt.
pub(crate) struct RefusedAttempt {
    pub(crate) lock: SoughtLock,
    pub(crate) votes: Arc<Round>,
    pub(crate) window: Window,
    /// The release of the attempt. `None` for a break.
    pub(crate) release: Option<Arc<Round>>,
    pub(crate) defect: Option<GrantDefect>,
}

/// The reason why an attempt failed although a majority granted it. Further votes leave the reason as it is.
#[derive(Clone)]
pub(crate) enum GrantDefect {
    /// The grants left too little validity.
    TooLate(TooLate),
    /// The nodes failed to agree on one fencing token. The last answer of each node gives the reason.
    Disagreement(VotesBySeat),
}

impl RefusedAttempt {
    /// True if a majority has said that another client has the lock.
    pub(crate) fn is_held(&self) -> bool {
        self.defect.is_none() && self.votes.tally().is_contended()
    }

    /// Returns the process that a majority of the nodes names as the holder.
    pub(super) fn holder(&self) -> Option<OwnerId> {
        let answers = self.votes.answers();
        let value = |vote: &'_ Option<Vote>| vote.as_ref()?.holding()?.value.clone();
        majority_owner(answers.iter().map(|vote| OwnerId::of_token(&value(vote)?)))
    }

    /// True if fewer nodes than a majority will have answered when the attempt ends.
    pub(crate) fn is_unanswered(&self, now: Moment) -> bool {
        let tally = self.votes.tally();
        let is_over = now >= self.window.end() && !tally.has_majority_answered();
        self.defect.is_none() && (tally.is_unanswered() || is_over)
    }

    /// True if the error is final: a majority has answered, or none will have by the attempt's end.
    pub(super) fn is_settled(&self, now: Moment) -> bool {
        let tally = self.votes.tally();
        self.defect.is_some()
            || tally.is_contended()
            || tally.is_won()
            || tally.is_unanswered()
            || now >= self.window.end()
    }

    /// Returns the largest number of nodes that one holder may have.
    pub(super) fn most_against(&self) -> usize {
        self.lock.protocol.most_rival_votes(&self.votes.answers())
    }

    /// True if the votes name several holders, each with less than a majority so far. If all votes name one holder, the
    /// lock counts as held, however few nodes voted.
    pub(crate) fn is_divided(&self) -> bool {
        let most = self.most_against();
        let voted = seats_in(self.votes.seats().voted);
        most < voted && most < majority(self.lock.nodes.len())
    }

    /// True if a node refused only because others go first. No holder at that node excludes the caller.
    pub(crate) fn is_behind_others(&self) -> bool {
        let answers = self.votes.answers();
        let mut holdings = answers.iter().flatten().filter_map(Vote::holding);
        holdings.any(|holding| holding.obstacle.is_advice())
    }

    /// Returns watches for the end of another client's lock, one for each permit of several. The watches ask all nodes
    /// that have not failed, even those without a vote. If one of these nodes fails later, the others suffice.
    pub(crate) fn watches(&self) -> Vec<QuorumWatch> {
        let tally = self.votes.tally();
        let may_vote = tally.configured - tally.failed;
        if tally.held == 0 || may_vote < majority(tally.configured) {
            return Vec::new();
        }
        let (lock, nodes) = (&self.lock, &self.lock.nodes);
        let clock = &lock.context.environment.clock;
        let votes = || Some(Arc::clone(&self.votes));
        let watch = |keys: &_| QuorumWatch::after_attempt(clock, nodes, keys, votes());
        lock.protocol.watched_keys().iter().map(watch).collect()
    }

    /// True if several clients split the votes, so that none can have won. Waits for the votes that this needs, within
    /// the attempt's timeout.
    pub(crate) async fn is_split(&self) -> bool {
        let needed = majority(self.lock.nodes.len());
        if self.most_against() >= needed {
            return false;
        }
        self.votes.set_goal(Goal::All);
        let clock = self.lock.context.clock();
        before(clock, self.window.end(), self.votes.decided()).await;
        // Count a missing vote as a possible grant to any client.
        let tally = self.votes.tally();
        let unknown = tally.pending() + tally.failed;
        tally.is_contended() && self.most_against() + unknown < needed
    }
}
