//! One attempt: ask all nodes at once, decide at a majority.

use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{AcquireError, TooLate};
use crate::kinds::looks;
use crate::lease::events::third_left;
use crate::model::limits::drift;
use crate::node::{NodeSet, Reply, Vote};
use crate::quorum::claim::Claim;
use crate::quorum::fencing::{FencingToken, TokenChoice, hint};
use crate::quorum::kind::Kind;
use crate::quorum::majority;
use crate::quorum::round::{Goal, Round, forget_stale, seats_in, submit};
use crate::quorum::terms::Terms;
use crate::request::Request;
use crate::waiting::budget::{RetryBudget, attempt_time};
use crate::waiting::refusal::{Answers, Refusal};
use crate::waiting::wakeup::{FreeWatch, QuorumWatch};

pub(crate) enum AttemptOutcome {
    Acquired(Arc<Claim>, Terms),
    Refused(Refused),
}

/// A failed attempt. Its release has been sent to every node.
pub(crate) struct Refused {
    context: Arc<Context>,
    claim: Arc<Claim>,
    release: Option<Arc<Round>>,
    /// The votes, which the callers in line share.
    pub(super) refusal: Arc<Refusal>,
}

/// The counters of a majority after the second round.
#[derive(Default)]
struct Agreement {
    count: Option<u64>,
    /// The last answer of each node, if no majority agreed on one number.
    disagreement: Option<Answers>,
}

/// Asks for `request` once. Dropping the future drops the claim, which sends the release to every node.
pub(crate) async fn attempt(
    context: &Arc<Context>,
    nodes: &NodeSet,
    request: &Request,
    kind: &Arc<dyn Kind>,
    timeout: Duration,
) -> AttemptOutcome {
    let environment = &context.environment;
    // The clock is read before the first byte is sent, as a node may count from then on.
    let started = environment.now();
    let token = context.noted_token(request.note.as_ref());
    let hint = if request.fencing {
        hint(&*environment.clock)
    } else {
        0
    };
    // A straggler counts while the first keys cannot have expired, however little time the caller has.
    let straggles_until = started.saturating_add(attempt_time(context.node_timeout, request.ttl));
    let in_time = (Arc::clone(&environment.clock), straggles_until);
    let asked = Arc::clone(kind);
    let (mut claim, acquisition) = Claim::acquire(nodes, asked, token, request.ttl, in_time, hint);
    let until = started.saturating_add(timeout);
    before(&*environment.clock, until, acquisition.decided()).await;
    // Votes that arrive later choose none of several locks.
    let mut is_chosen = true;
    if kind.count().is_some() {
        match claim.narrow(&acquisition) {
            Some(one) => claim = one,
            None => is_chosen = false,
        }
    }
    let agreement = if request.fencing && acquisition.tally().is_won() {
        agree(context, &claim, &acquisition, until).await
    } else {
        Agreement::default()
    };

    // The lease is made of all grants so far, also of those that came late.
    acquisition.admit_late();
    // The votes are read first and the clock after them: a client that was paused between request and
    // reply, or between these two lines, sees here that its lock may have expired.
    let has_token = agreement.count.is_some() || !request.fencing;
    let is_won =
        is_chosen && has_token && claim.is_vouched_for() && agreement.disagreement.is_none();
    let now = environment.now();
    let deadline = started
        .saturating_add(request.ttl)
        .saturating_sub(drift(request.ttl, request.clock_drift_factor));
    let left = deadline.saturating_since(now);
    let too_late = if is_won {
        if !left.is_zero() && left >= request.min_validity {
            let terms = Terms {
                acquired_at: started,
                granted_at: now,
                deadline,
                expiring: third_left(started, deadline),
                fencing_token: agreement
                    .count
                    .map(|count| FencingToken::new(kind.token_at(count))),
            };
            claim.has_won();
            return AttemptOutcome::Acquired(claim, terms);
        }
        Some(TooLate::Validity(left))
    } else {
        None
    };
    let release = claim.release();
    AttemptOutcome::Refused(Refused {
        context: Arc::clone(context),
        release,
        refusal: Arc::new(Refusal {
            nodes: Arc::clone(&claim.nodes),
            resource: request.resource.clone(),
            acquisition,
            began: started,
            timeout,
            too_late,
            disagreement: agreement.disagreement,
            kind: Arc::clone(kind),
        }),
        claim,
    })
}

/// The number at which the counters of a majority stand, if they agree. They usually do. Otherwise raises the
/// counters of a majority to one number, in a second round. If a node fails meanwhile, another node that granted
/// replaces it.
async fn agree(context: &Context, claim: &Claim, acquisition: &Round, until: Moment) -> Agreement {
    let clock = context.clock();
    let mut votes = acquisition.answers();
    loop {
        // A counter that the node may have forgotten does not count.
        forget_stale(&mut votes, &claim.nodes);
        let Some(TokenChoice { count, below }) = TokenChoice::of(&votes) else {
            break;
        };
        if below.is_empty() {
            return Agreement {
                count: Some(count),
                disagreement: None,
            };
        }
        let round = claim.confirm(count, &below);
        before(clock, until, round.decided()).await;
        let mut answers = round.answers();
        for seat in below {
            votes[seat] = answers[seat].take().map(|answer| match answer {
                Vote::Granted { epoch, .. } => Vote::Granted {
                    counter: Some(count),
                    epoch,
                    choice: None,
                },
                other => other,
            });
        }
    }
    // This includes nodes that granted without a counter: they cannot support a fencing token.
    Agreement {
        count: None,
        disagreement: Some(votes),
    }
}

impl Refused {
    fn acquisition(&self) -> &Arc<Round> {
        &self.refusal.acquisition
    }

    /// The moment until which votes are waited for.
    fn ends(&self) -> Moment {
        let Refusal { began, timeout, .. } = &*self.refusal;
        began.saturating_add(*timeout)
    }

    /// True if the votes name different holders and no holder is known to have a majority. If all votes
    /// name one holder, the lock is held, however few nodes voted.
    pub(crate) fn is_divided(&self) -> bool {
        let most = self.most_against();
        let voted = seats_in(self.acquisition().seats().voted);
        most < voted && most < majority(self.claim.nodes.len())
    }

    fn kind(&self) -> &dyn Kind {
        &*self.refusal.kind
    }

    fn most_against(&self) -> usize {
        self.kind().most_against(&self.acquisition().answers())
    }

    /// True if a node says that others go first, although no holder there excludes us.
    pub(crate) fn is_behind_others(&self) -> bool {
        let answers = self.acquisition().answers();
        let mut holdings = answers.iter().flatten().filter_map(Vote::holding);
        holdings.any(|holding| holding.obstacle.is_advice())
    }

    /// Watches for the end of another client's lock. All nodes that have not failed are asked, also
    /// nodes whose votes are missing: if one of them fails later, the others suffice.
    pub(crate) fn watch(&self) -> Option<FreeWatch> {
        let tally = self.acquisition().tally();
        let may_vote = tally.configured - tally.failed;
        let is_worth_it = tally.held > 0 && may_vote >= majority(tally.configured);
        is_worth_it.then(|| {
            let (clock, nodes) = (&self.context.environment.clock, &self.claim.nodes);
            let watch = |keys: &_| QuorumWatch::behind(clock, nodes, keys, self.acquisition());
            FreeWatch(self.kind().watched().iter().map(watch).collect())
        })
    }

    /// True if too few nodes would tell the caller, which has this `watch`, when it may win.
    pub(super) fn is_blind(&self, watch: Option<&FreeWatch>) -> bool {
        self.is_behind_others() || watch.is_none_or(FreeWatch::is_blind)
    }

    /// True if the votes are split so that no client has the lock and none can have won it. Waits for
    /// the votes that this needs, within the attempt's timeout.
    pub(crate) async fn is_split(&self) -> bool {
        let acquisition = self.acquisition();
        let needed = majority(self.claim.nodes.len());
        if self.most_against() >= needed {
            return false;
        }
        acquisition.set_goal(Goal::All);
        before(self.context.clock(), self.ends(), acquisition.decided()).await;
        // A node that did not answer may have granted the lock to any client.
        let tally = acquisition.tally();
        let unknown = tally.pending() + tally.failed;
        tally.is_contended() && self.most_against() + unknown < needed
    }

    /// The error for the caller, if no further attempt follows. Waits until the nodes that granted the
    /// attempt have undone it, and asks one of the refusing nodes for the holder's remaining time. It
    /// waits for votes until the attempt's timeout has passed, and for the other answers as long again.
    /// It never waits beyond the caller's own limit.
    ///
    /// If this future is dropped, only the error is lost.
    pub(crate) async fn conclude(self, budget: &RetryBudget<'_>) -> AcquireError {
        let attempts = budget.attempts;
        let environment = &self.context.environment;
        let clock = &*environment.clock;
        let bounded = |until: Moment| budget.end.map_or(until, |end| until.min(end));

        // An attempt is decided once it is lost. The reason may need another vote.
        let acquisition = self.acquisition();
        acquisition.set_goal(Goal::Contention);
        before(clock, bounded(self.ends()), acquisition.decided()).await;
        let now = environment.now();
        let elapsed = now.saturating_since(self.refusal.began);
        let inspection = self.inspect();
        let undone = async {
            if let Some(round) = &self.release {
                // Only nodes that granted: nodes that hang would take the whole timeout.
                round.set_goal(Goal::Seats(acquisition.seats().granted));
                round.decided().await;
            }
            if let Some(round) = &inspection {
                round.decided().await;
            }
        };
        let until = now.saturating_add(self.refusal.timeout);
        before(clock, bounded(until), undone).await;

        let waited = environment.now().saturating_since(budget.began);
        let inspected = inspection.and_then(|round| first_answer(&round));
        self.refusal.error(inspected, elapsed, (attempts, waited))
    }

    /// Asks a refusing node for the holder's remaining time. The question follows the release on the
    /// connection, so the answer costs no round trip of its own.
    fn inspect(&self) -> Option<Arc<Round>> {
        if self.kind().count().is_some() {
            // The refusals have told the time.
            return None;
        }
        let seat = self
            .acquisition()
            .answers()
            .iter()
            .position(|answer| matches!(answer, Some(Vote::Held(_))))?;
        let question = Arc::new(looks::peek(self.kind().keys()));
        let round = Round::new(1, Goal::All);
        let reply = Reply::new(Arc::clone(&round), 0, &question);
        submit(&*self.claim.nodes[seat], question, reply);
        Some(round)
    }
}

impl Drop for Refused {
    fn drop(&mut self) {
        // Callers in line may keep the votes. This caller waits for them no longer.
        self.acquisition().forget_caller();
    }
}

fn first_answer(round: &Round) -> Option<Vote> {
    round.answers().into_iter().next().flatten()
}
