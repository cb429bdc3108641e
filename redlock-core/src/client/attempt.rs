//! Attempts: each asks all nodes at once for a lock, and a majority decides.

use std::sync::Arc;

use crate::context::Context;
use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::TooLate;
use crate::model::limits::validity_of;
use crate::node::{Counter, Vote};
use crate::quorum::claim::Claim;
use crate::quorum::fencing::{TokenBlock, TokenChoice, hint};
use crate::quorum::round::{Round, forget_stale};
use crate::quorum::validity::{Validity, third_left};
use crate::waiting::budget::{Window, attempt_time};
use crate::waiting::refused_attempt::{GrantDefect, RefusedAttempt};

use super::acquire::Acquirer;

/// Asks for the lock once, within `window`. `ask_nodes` read the start of the window before anything was sent. Dropping
/// the future drops the claim, which sends the release to every node.
pub(crate) async fn attempt(
    acquirer: &Acquirer<'_>,
    window: Window,
) -> Result<(Arc<Claim>, Validity), RefusedAttempt> {
    let (context, protocol, request) = (acquirer.context(), &acquirer.protocol, acquirer.request);
    let started = window.started;
    let environment = &context.environment;
    let token = context.noted_token(request.note.as_ref());
    let hint = if request.fencing {
        hint(&*environment.clock, acquirer.least_count)
    } else {
        0
    };
    let asked = Arc::clone(protocol);
    let mut claim = Claim::acquire(acquirer.nodes, asked, token, request.ttl, hint);
    let acquisition = Arc::clone(&claim.acquisition);
    let until = window.end();
    before(&*environment.clock, until, acquisition.decided()).await;
    // Choose one permit by the votes so far, and ignore later votes for this choice.
    let is_chosen = protocol.permits().is_none() || claim.narrow_to_permit();
    let agreed = if request.fencing && acquisition.tally().is_won() {
        agree(context, &claim, &acquisition, until).await.map(Some)
    } else {
        Ok(None)
    };

    // From here on, late grants leave the attempt's outcome as it is. Late grants count in later extensions if they
    // arrive within the node timeout, or within a quarter of the ttl if that is less.
    let straggles_until = started.saturating_add(attempt_time(context.node_timeout, request.ttl));
    acquisition.set_straggler_deadline(Arc::clone(&environment.clock), straggles_until);
    // Read the votes first and the clock after them. A client that was paused between request and reply, or between
    // these two lines, then sees that its lock may have expired.
    let has_token = matches!(agreed, Ok(Some(_))) || !request.fencing;
    let is_won = is_chosen && has_token && claim.is_vouched_for();
    let now = environment.now();
    let deadline = started.saturating_add(validity_of(request.ttl, request.clock_drift_factor));
    let remaining = deadline.saturating_since(now);
    let defect = match agreed {
        Ok(tokens) if is_won => {
            if !remaining.is_zero() && remaining >= request.min_validity {
                let validity = Validity {
                    attempt_began: started,
                    granted_at: now,
                    deadline,
                    expiring: third_left(started, deadline),
                    tokens,
                };
                return Ok((claim.into_lease(), validity));
            }
            Some(GrantDefect::TooLate(TooLate::Validity(remaining)))
        }
        other => other.err(),
    };
    Err(RefusedAttempt {
        lock: acquirer.sought_lock(),
        release: claim.release(),
        votes: acquisition,
        window,
        defect,
    })
}

/// Returns the numbers on whose end the counters of a majority agree. Usually the counters agree at once. Otherwise a
/// second round raises the counters of a majority to one number. If a node fails during that round, another node that
/// granted the lock replaces it.
///
/// # Errors
/// [`GrantDefect::Disagreement`] if no majority agrees on one number.
async fn agree(
    context: &Context,
    claim: &Claim,
    acquisition: &Round,
    until: Moment,
) -> Result<TokenBlock, GrantDefect> {
    let clock = context.clock();
    let mut votes = acquisition.answers();
    loop {
        // Ignore the counter of a node that may have forgotten it.
        forget_stale(&mut votes, &claim.nodes);
        let Some(TokenChoice { block, below }) = TokenChoice::of(&votes) else {
            break;
        };
        if below.is_empty() {
            return Ok(block);
        }
        let Some(round) = claim.raise_counters(block.count, &below) else {
            break;
        };
        before(clock, until, round.decided()).await;
        let mut answers = round.answers();
        for seat in below {
            votes[seat] = match (votes[seat].take(), answers[seat].take()) {
                (Some(Vote::Granted { counter, .. }), Some(Vote::Granted { epoch, .. })) => {
                    let count = block.count;
                    let counter = counter.map(|counter| Counter { count, ..counter });
                    Some(Vote::Granted {
                        counter,
                        epoch,
                        choice: None,
                    })
                }
                (_, other) => other,
            };
        }
    }
    // The votes include those of nodes that granted without a counter. Such votes cannot support a fencing token.
    Err(GrantDefect::Disagreement(votes))
}
