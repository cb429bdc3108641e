//! Errors of callers whose wait is over.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{AcquireError, Contended, NodeReport, Shortage, TooLate, Unavailable};
use crate::kinds::any_kind;
use crate::model::resource::Resource;
use crate::node::{Holding, Remaining, Vote};
use crate::quorum::round::{Goal, Round};
use crate::quorum::{Tally, majority};

use super::NoTurn;
use super::budget::RetryBudget;
use super::refused_attempt::{GrantDefect, RefusedAttempt, SoughtLock};

/// Returns the error for a caller whose last attempt is `refusal`. Waits until the nodes that granted the attempt have
/// undone it, and asks one of the refusing nodes for the holder's remaining time. The wait for votes lasts until the
/// attempt's timeout, and the wait for the other answers lasts as long again. Both waits end at the caller's own limit.
///
/// Dropping the future loses only the error.
pub(crate) async fn refusal_error(
    refusal: &RefusedAttempt,
    budget: &RetryBudget<'_>,
) -> AcquireError {
    let clock = refusal.lock.context.clock();
    let bounded = |until: Moment| budget.end.map_or(until, |end| until.min(end));

    // The attempt was decided as soon as it was lost. The reason may need another vote.
    refusal.votes.set_goal(Goal::Contention);
    let votes_end = bounded(refusal.window.end());
    before(clock, votes_end, refusal.votes.decided()).await;
    let now = clock.now();
    let elapsed = now.saturating_since(refusal.window.started);
    let inspection = inspect(refusal);
    let undone = async {
        if let Some(round) = &refusal.release {
            // Wait only for nodes that granted the lock. Nodes that hang would take the whole timeout.
            round.set_goal(Goal::Seats(refusal.votes.seats().granted));
            round.decided().await;
        }
        if let Some(round) = &inspection {
            round.decided().await;
        }
    };
    let until = now.saturating_add(refusal.window.timeout);
    before(clock, bounded(until), undone).await;
    // Stop waiting for votes. Other callers in line may keep the votes.
    refusal.votes.forget_caller();

    let inspected = inspection.and_then(|round| round.answers().pop().flatten());
    error_by_votes(refusal, inspected, elapsed, budget)
}

/// Asks a refusing node for the holder's remaining time. The question follows the release on the connection, so the
/// answer costs no round trip of its own.
fn inspect(refusal: &RefusedAttempt) -> Option<Arc<Round>> {
    let (nodes, protocol) = (&refusal.lock.nodes, &refusal.lock.protocol);
    if protocol.permits().is_some() {
        // The refusals of permits already contain the remaining time.
        return None;
    }
    let answers = refusal.votes.answers();
    let is_held = |answer: &Option<Vote>| matches!(answer, Some(Vote::Held(_)));
    let seat = answers.iter().position(is_held)?;
    let round = Round::new(1, any_kind::peek(protocol.keys()), Goal::All);
    round.send_to(&*nodes[seat], 0);
    Some(round)
}

/// Returns the error for a caller that gives up now, by the votes so far. The attempt took `elapsed`. `inspected` is
/// the answer of the node that was asked for the holder's remaining time.
fn error_by_votes(
    refusal: &RefusedAttempt,
    inspected: Option<Vote>,
    elapsed: Duration,
    budget: &RetryBudget<'_>,
) -> AcquireError {
    let nodes = &refusal.lock.nodes;
    let votes = match &refusal.defect {
        Some(GrantDefect::Disagreement(votes)) => votes.clone(),
        _ => refusal.votes.answers_now(nodes),
    };
    let tally = Tally::of(&votes);
    let now = refusal.lock.context.now();
    let (attempts, waited) = (budget.attempts, now.saturating_since(budget.began));
    if refusal.defect.is_none()
        && tally.is_contended()
        && let Some(contended) = contended(refusal, &votes, inspected)
    {
        return AcquireError::Contended(Contended {
            attempts,
            waited,
            ..contended
        });
    }
    let timeout = refusal.window.timeout;
    let too_late = match refusal.defect {
        Some(GrantDefect::TooLate(too_late)) => Some(too_late),
        // A majority may have granted the lock after the attempt's end.
        _ => tally.is_won().then_some(TooLate::Timeout(timeout)),
    };
    let names = nodes.iter().map(|node| node.name());
    let reports = NodeReport::of_round(names, votes, u64::MAX, elapsed, timeout);
    AcquireError::Unavailable(Unavailable {
        too_late,
        attempts,
        gave_up_early: budget.gives_up_early(now),
        ..Unavailable::in_one_attempt(tally.configured, reports, waited)
    })
}

/// Returns the error that the refusals give. It names a holder if a node named one, and otherwise who goes first.
fn contended(
    refusal: &RefusedAttempt,
    votes: &[Option<Vote>],
    inspected: Option<Vote>,
) -> Option<Contended> {
    let lock = &refusal.lock;
    let holdings = votes.iter().flatten().filter_map(Vote::holding);
    let first = holdings.min_by_key(|holding| holding.obstacle.is_advice());
    let mut holding = first?.clone();
    // Use `inspected` only if the refusal says less. A refusal says more if others go first, or if the key has another
    // type than a string.
    if holding.remaining == Remaining::Unknown
        && !holding.obstacle.is_advice()
        && let Some(Vote::Held(inspected)) = inspected
    {
        holding = inspected;
    }
    let names = lock.resource.names();
    let place = holding.place.map(usize::from).filter(|_| names.len() > 1);
    let name = place.and_then(|place| names.clone().nth(place));
    Some(Contended {
        name: name.map(Resource::from),
        shortage: lock.protocol.permits().map(|count| Shortage {
            count,
            is_split: refusal.most_against() < majority(lock.nodes.len()),
        }),
        ..Contended::by(holding)
    })
}

/// Returns the error for a caller that gives up in line.
pub(crate) fn waiter_error(
    known: NoTurn,
    lock: &SoughtLock,
    budget: &RetryBudget<'_>,
) -> AcquireError {
    let now = lock.context.now();
    let waited = now.saturating_since(budget.began);
    match known {
        NoTurn::Held(token, until) => {
            let mut holding = Holding::by(token.as_bytes());
            holding.remaining = Remaining::Expires(until.saturating_since(now));
            AcquireError::Contended(Contended {
                waited,
                ..Contended::by(holding)
            })
        }
        NoTurn::Refused(refusal) => {
            // The caller may have waited in line for much longer than the nodes had to answer.
            let window = refusal.window;
            let elapsed = now.saturating_since(window.started).min(window.timeout);
            error_by_votes(&refusal, None, elapsed, budget)
        }
        NoTurn::Full(standing) => AcquireError::Contended(Contended {
            waiters: standing,
            ..Contended::by(Holding::default())
        }),
        NoTurn::Nothing => {
            // Blame no node, because the nodes have yet to answer.
            let names = lock.nodes.iter().map(|node| node.name());
            let none = vec![None; lock.nodes.len()];
            let reports = NodeReport::of_round(names, none, 0, Duration::ZERO, Duration::MAX);
            AcquireError::Unavailable(Unavailable {
                attempts: 0,
                ..Unavailable::in_one_attempt(lock.nodes.len(), reports, waited)
            })
        }
    }
}
