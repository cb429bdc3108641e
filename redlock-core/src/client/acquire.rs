//! From a request to a lease: standing in line, attempts, and pauses between them.

use std::future::pending;
use std::sync::Arc;

use crate::context::Context;
use crate::env::timeout::before;
use crate::error::AcquireError;
use crate::kinds::{ProtocolArgs, any_kind, runs};
use crate::lease::{Lease, Leases};
use crate::model::resource::Resource;
use crate::node::NodeSet;
use crate::node::hash_slot::check_slots;
use crate::quorum::lock_protocol::{LinePlace, LockProtocol, TurnRule};
use crate::quorum::round::{Goal, Round};
use crate::request::Request;
use crate::waiting::budget::RetryBudget;
use crate::waiting::quorum_watch::any_free;
use crate::waiting::refused_attempt::RefusedAttempt;
use crate::waiting::{LineKey, Turn};

use super::attempt::attempt;
use super::{check_nodes, last_run};

/// See [`Client::acquire`](super::Client::acquire).
pub(super) async fn acquire(
    leases: &Arc<Leases>,
    nodes: &NodeSet,
    request: &Request,
) -> Result<Lease, AcquireError> {
    request.check()?;
    check_nodes(nodes)?;
    let context = &leases.context;
    let (environment, prefix) = (&context.environment, &context.key_prefix);
    let mut budget = RetryBudget::new(environment, &request.retry, context.node_timeout);
    budget.splits = request.split_retries;
    let keys = request.resource.keys_under(prefix)?;
    let advice = budget.advice();
    let protocol = request.kind.protocol(&ProtocolArgs {
        keys: &keys,
        prefix,
        is_fenced: request.fencing,
        waits: advice.map(|advice| (&context.client_token, advice)),
    });
    if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
        let mut auxiliary = protocol.auxiliary_keys();
        if request.once_per.is_some() {
            auxiliary.push(runs::auxiliary_keys(&keys, prefix));
        }
        check_slots(&**node, &keys, &auxiliary)?;
    }
    if let Some(period) = request.once_per
        && let Some(run) = last_run(context, nodes, &keys, period, budget.end).await
    {
        // A late caller does not compete for the lock.
        return Err(AcquireError::AlreadyRun(run));
    }
    let mut left_behind = LeftBehind {
        nodes,
        protocol: &protocol,
        is_won: None,
    };
    let lease = 'line: loop {
        let line_key = LineKey::new(protocol.line_keys(), request.kind, nodes);
        let turn = match leases.lines.turn(line_key, &mut budget).await {
            Ok(turn) => turn,
            Err(known) => {
                return Err(known.error(nodes, environment.now(), &budget));
            }
        };
        loop {
            if let Some(claim) = turn.take_handed_claim() {
                if claim.suits(request, &*protocol, context.clock()) {
                    let (claim, validity) = claim.take_over(environment.now());
                    let turn = Some(turn.keep(&validity, &claim.token));
                    break 'line Lease::new(leases, claim, request, &budget, validity, turn);
                }
                // The release goes ahead of the acquisition on each connection, without a round trip between
                // the two.
                claim.release();
            }
            let resource = &request.resource;
            let share = (&turn, turn.questions_due());
            let met = comes_another(context, share, &budget, (nodes, resource), &protocol).await;
            let refusal = if let Some(refusal) = met {
                refusal
            } else {
                // The clock is read before the first byte is sent, as a node may count from then on.
                let started = environment.now();
                let attempted = turn.start_attempt(started, context.node_timeout);
                let Some((was_refused, is_followed)) = attempted else {
                    // This future was not polled for so long that another caller took the turn.
                    continue 'line;
                };
                protocol.prepare_attempt(LinePlace {
                    was_refused: budget.attempts > 0 || was_refused,
                    is_followed,
                });
                left_behind.is_won = Some(false);
                let timeout = budget.begin_attempt(environment, request.ttl);
                match attempt(context, nodes, request, &protocol, (started, timeout)).await {
                    Ok((claim, validity)) => {
                        // If it is the first attempt, the release of its lease takes back what it left.
                        left_behind.is_won = (budget.attempts > 1).then_some(true);
                        let turn = match claim.protocol.turn_rule() {
                            TurnRule::PassOn => {
                                turn.pass_on();
                                None
                            }
                            _ => Some(turn.keep(&validity, &claim.token)),
                        };
                        break 'line Lease::new(leases, claim, request, &budget, validity, turn);
                    }
                    Err(refusal) => refusal,
                }
            };
            let refusal = Arc::new(refusal);
            turn.record_refusal(&refusal);
            if !pause(&turn, &refusal, &mut budget).await && !refusal.is_break {
                // The next caller need not wait for the error's details.
                drop(turn);
                return Err(refusal.conclude(&budget).await);
            }
        }
    };
    if let Some(period) = request.once_per {
        // The holder that ran submitted its record before it released the lock or handed it over. This look follows
        // the record on the same connection, so the answers contain it. The caller's own limit does not bound it: a
        // caller that got the lock at the last moment would run the job again.
        if let Some(run) = last_run(context, nodes, &keys, period, None).await {
            lease.release().await;
            return Err(AcquireError::AlreadyRun(run));
        }
    }
    Ok(lease)
}

/// What refused attempts leave on the nodes for the next attempt. Dropping it takes that back.
struct LeftBehind<'a> {
    nodes: &'a NodeSet,
    protocol: &'a Arc<dyn LockProtocol>,
    /// Whether an attempt has won. `None` if no attempt was made, or if the lease's release takes everything back.
    is_won: Option<bool>,
}

impl Drop for LeftBehind<'_> {
    fn drop(&mut self) {
        // It goes behind the acquisitions on each connection, and is owed if it cannot be delivered.
        let call = self
            .is_won
            .and_then(|is_won| self.protocol.withdraw_call(is_won));
        if let Some(call) = call {
            Round::start(self.nodes, call, Goal::All);
        }
    }
}

/// Makes the break for other processes, if one is due: asks the nodes several times in a row whether another has
/// come, within the time of an attempt and within the caller's own limit. If one has come, returns what the nodes say:
/// the caller waits like a caller that was refused.
async fn comes_another(
    context: &Arc<Context>,
    (turn, questions): (&Turn, u32),
    budget: &RetryBudget<'_>,
    (nodes, resource): (&NodeSet, &Resource),
    protocol: &Arc<dyn LockProtocol>,
) -> Option<RefusedAttempt> {
    if questions == 0 {
        return None;
    }
    let clock = context.clock();
    let until = clock.now().saturating_add(context.node_timeout);
    // The break leaves enough time for the caller's last attempt.
    let until = budget.last_attempt.map_or(until, |last| until.min(last));
    let question = any_kind::peek(protocol.line_keys());
    let mut met = None;
    for left in (1..=questions).rev() {
        let began = clock.now();
        let timeout = until.saturating_since(began);
        if timeout.is_zero() {
            break;
        }
        turn.set_questions_due(left, timeout);
        let votes = Round::start(nodes, question.clone(), Goal::FreeOfUs);
        before(clock, until, votes.decided()).await;
        let tally = votes.tally();
        if tally.is_contended() {
            met = Some(RefusedAttempt {
                context: Arc::clone(context),
                nodes: Arc::clone(nodes),
                protocol: Arc::clone(protocol),
                resource: resource.clone(),
                is_break: true,
                votes,
                release: None,
                began,
                timeout,
                too_late: None,
                disagreement: None,
            });
            break;
        }
        if !tally.is_free_of_us() {
            break;
        }
    }
    turn.set_questions_due(0, context.node_timeout);
    met
}

/// Waits for the next attempt. False if there is none.
async fn pause(turn: &Turn, refusal: &RefusedAttempt, budget: &mut RetryBudget<'_>) -> bool {
    let environment = &refusal.context.environment;
    let is_unanswered = refusal.is_unanswered(environment.now());
    let next = match budget.next_attempt(environment, is_unanswered) {
        None if budget.splits > 0 && refusal.is_split().await => {
            budget.next_behind_a_split(environment)
        }
        next => next,
    };
    let Some(next) = next else { return false };
    let ended = environment.now();
    let watches = refusal.watches();
    let shares = refusal.protocol.is_shared();
    let free = async {
        if watches.is_empty() {
            return pending().await;
        }
        let is_free = tokio::select! {
            biased;
            () = any_free(&watches) => true,
            // Other readers may have come before a majority of the nodes was free.
            () = watches[0].until_changed(), if shares => false,
        };
        // By now the votes that were missing when the attempt was decided have arrived.
        let spread = if !is_free || refusal.is_behind_others() {
            budget.spread_behind_others(environment)
        } else {
            budget.spread(environment, refusal.is_divided())
        };
        environment
            .clock
            .sleep_until(ended.saturating_add(spread))
            .await;
        if !shares {
            any_free(&watches).await;
        }
    };
    turn.pause(next, free).await;
    true
}
