//! From a request to a lease: standing in line, attempts, and pauses between them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{AcquireError, Contended, NodeReport, Unavailable};
use crate::kinds::{self, Asking, looks, runs};
use crate::lease::Lease;
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::node::hash_slot::check_slots;
use crate::node::{Holding, NodeSet, Remaining};
use crate::quorum::claim::Claim;
use crate::quorum::kind::{Kind, TurnRule};
use crate::quorum::majority;
use crate::quorum::round::{Goal, MOST_NODES, Round};
use crate::quorum::terms::Terms;
use crate::request::Request;
use crate::waiting::budget::RetryBudget;
use crate::waiting::handover::LeftClaim;
use crate::waiting::refusal::Refusal;
use crate::waiting::wakeup::QuorumWatch;
use crate::waiting::{Arrival, LastKnown, LineKey, Queued, Turn, WaitEnd};

use super::attempt::{AttemptOutcome, Refused, attempt};
use super::{Client, ClientShared};

impl Client {
    /// Acquires `request` from a majority of `nodes`, with the retries that the request allows.
    ///
    /// Callers of this client that want the same resource on the same nodes stand in a line, first
    /// come, first served. Only the first caller in the line asks the nodes. When its lease ends, the
    /// next caller gets the lock from it, within the limits of
    /// [`Settings::handover`](super::Settings::handover). Callers of other kinds of locks stand in lines of their own.
    ///
    /// # Errors
    /// [`AcquireError::Contended`] if a majority answered and another holder has the resource,
    /// [`AcquireError::Unavailable`] if no majority answered in time,
    /// [`AcquireError::AlreadyRun`] if a majority remembers a run of the request's
    /// [`once_per`](Request::once_per), and [`AcquireError::Invalid`] before anything is sent.
    ///
    /// # Cancellation
    /// If this future is dropped at any point, the caller leaves the line at once. Every node that the
    /// acquisition may have reached is sent the release, after the acquisition on the same connection.
    pub async fn acquire(&self, nodes: &NodeSet, request: &Request) -> Result<Lease, AcquireError> {
        request.check()?;
        check_number(nodes)?;
        let context = &self.shared.context;
        let mut budget =
            RetryBudget::new(&context.environment, &request.retry, context.node_timeout)
                .with_splits(request.split_retries);
        let keys = request.resource.keys_under(&context.key_prefix)?;
        let prefix = &context.key_prefix;
        let kind = request.kind.asked(&Asking {
            keys: &keys,
            prefix,
            is_fenced: request.fencing,
            waits: budget.advice().map(|advice| (&context.name, advice)),
        });
        if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
            let mut beside = kind.beside();
            let runs = request.once_per.map(|_| runs::beside(&keys, prefix));
            beside.extend(runs);
            check_slots(&**node, &keys, &beside)?;
        }
        let line_key = LineKey {
            keys: kind.line().clone(),
            kind: request.kind.on_nodes(),
            nodes: Arc::clone(nodes),
        };
        if let Some(period) = request.once_per {
            let limit = budget.end;
            self.shared.unless_run(&line_key, period, limit).await?;
        }
        let mut left_behind = LeftBehind::new(nodes, &kind);
        let arrival = Queued::arrive(&self.shared.lines, line_key);
        let (mut turn, mut left_claim) = self
            .shared
            .wait(arrival, (nodes, &request.resource), &mut budget)
            .await?;
        let lease = loop {
            if let Some(left) = left_claim.take() {
                if left.suits(request, &*kind, context.clock()) {
                    break self.shared.take_over(left, request, &budget, turn);
                }
                // The release goes ahead of the acquisition on each connection, without a round trip between
                // the two.
                left.release();
            }
            let timeout = budget.begin_attempt(&context.environment, request.ttl);
            left_behind.may_be_left();
            let was_refused = budget.attempts > 1 || turn.was_refused();
            kind.attempts(was_refused, turn.is_followed());
            let refused = match attempt(context, nodes, request, &kind, timeout).await {
                AttemptOutcome::Acquired(claim, terms) => {
                    left_behind.has_won(budget.attempts == 1);
                    break self.shared.won(claim, terms, request, &budget, turn);
                }
                AttemptOutcome::Refused(refused) => refused,
            };
            (turn, left_claim) = self.shared.pause(turn, refused, &mut budget).await?;
        };
        if let Some(period) = request.once_per {
            return self.shared.unless_run_meanwhile(lease, period).await;
        }
        Ok(lease)
    }
}

/// What refused attempts leave on the nodes for the next attempt. Dropping it takes that back.
struct LeftBehind<'a> {
    nodes: &'a NodeSet,
    kind: &'a Arc<dyn Kind>,
    /// True if a node may have it, and no lease takes it back.
    may_be_left: bool,
    has_won: bool,
}

impl<'a> LeftBehind<'a> {
    fn new(nodes: &'a NodeSet, kind: &'a Arc<dyn Kind>) -> Self {
        Self {
            nodes,
            kind,
            may_be_left: false,
            has_won: false,
        }
    }

    /// An attempt begins.
    fn may_be_left(&mut self) {
        self.may_be_left = true;
    }

    /// An attempt has won. If it is the first, the release of its lease takes back what it left.
    fn has_won(&mut self, is_first: bool) {
        self.has_won = true;
        self.may_be_left = !is_first;
    }
}

impl Drop for LeftBehind<'_> {
    fn drop(&mut self) {
        // It goes behind the acquisitions on each connection, and is owed if it cannot be delivered.
        if self.may_be_left
            && let Some(call) = self.kind.withdraw(self.has_won)
        {
            Round::start(self.nodes, &Arc::new(call), Goal::All);
        }
    }
}

pub(super) type Begun = (Turn, Option<LeftClaim>);

impl ClientShared {
    /// Waits until it is the caller's turn.
    pub(super) async fn wait(
        &self,
        arrival: Arrival,
        (nodes, resource): (&NodeSet, &Resource),
        budget: &mut RetryBudget<'_>,
    ) -> Result<Begun, AcquireError> {
        let (mut turn, rounds, left_claim) = match arrival {
            Arrival::Turn(turn, rounds) => (turn, rounds, None),
            Arrival::Full(standing) => return Err(full(standing)),
            Arrival::Queued(queued) => match queued.wait(budget).await {
                WaitEnd::GaveUp(last_known) => {
                    return Err(self.gave_up(nodes, last_known, budget));
                }
                WaitEnd::Turn(turn, handoff) => (turn, handoff.rounds, handoff.left_claim),
            },
        };
        self.take_break(&mut turn, (rounds, resource), None, budget)
            .await;
        Ok((turn, left_claim))
    }

    /// A break for other processes: asks the nodes up to `rounds` times whether another process has
    /// come, within the time of an attempt and within the caller's own limit. If one has come, this
    /// waits like any refused caller until the lock is free, and then lets the processes go first that
    /// had the lock longer ago. The next attempt is due at `next`, or else when the retry budget says.
    async fn take_break(
        &self,
        turn: &mut Turn,
        (mut rounds, resource): (u32, &Resource),
        mut next: Option<Moment>,
        budget: &mut RetryBudget<'_>,
    ) {
        let environment = &self.context.environment;
        while rounds > 0 {
            let Some(refusal) = self.comes_another(turn, rounds, resource, budget).await else {
                return;
            };
            turn.met_rivals();
            if refusal.is_held() {
                turn.refused(&refusal);
            }
            let due = next.or_else(|| budget.next_attempt(environment, false));
            let Some(due) = due.filter(|due| *due > environment.now()) else {
                return;
            };
            next = Some(due);
            let LineKey { keys, nodes, .. } = turn.line_key();
            let seats = !refusal.acquisition.seats().failed;
            let watch = QuorumWatch::begin(&environment.clock, nodes, keys, seats);
            let free = pin!(watch.free());
            if !turn.pause_looking(due, || watch.is_blind(), free).await {
                return;
            }
            rounds = turn.comes_free(due);
        }
    }

    /// Asks the nodes, `rounds` times, whether another process has come. If so, returns what they say.
    async fn comes_another(
        &self,
        turn: &mut Turn,
        rounds: u32,
        resource: &Resource,
        budget: &RetryBudget<'_>,
    ) -> Option<Arc<Refusal>> {
        let clock = self.context.clock();
        let until = clock.now().saturating_add(self.context.node_timeout);
        // The break leaves enough time for the caller's last attempt.
        let until = budget.last_attempt().map_or(until, |last| until.min(last));
        let LineKey { keys, nodes, .. } = turn.line_key().clone();
        let question = Arc::new(looks::peek(&keys));
        for left in (0..rounds).rev() {
            let began = clock.now();
            let timeout = until.saturating_since(began);
            if timeout.is_zero() {
                turn.gives_way(self.context.node_timeout, 0);
                return None;
            }
            turn.gives_way(timeout, left + 1);
            let round = Round::start(&nodes, &question, Goal::FreeOfUs);
            before(clock, until, round.decided()).await;
            let tally = round.tally();
            let is_taken = tally.configured - tally.held < majority(tally.configured);
            if !tally.is_free_of_us() || is_taken {
                turn.gives_way(timeout, 0);
                return is_taken.then(|| {
                    Arc::new(Refusal {
                        nodes: Arc::clone(&nodes),
                        resource: resource.clone(),
                        acquisition: round,
                        began,
                        timeout,
                        too_late: None,
                        disagreement: None,
                        kind: kinds::plain(&turn.line_key().keys),
                    })
                });
            }
        }
        turn.nobody_came();
        turn.gives_way(self.context.node_timeout, 0);
        None
    }

    /// Waits for the next attempt, or returns the error if there is none.
    pub(super) async fn pause(
        &self,
        mut turn: Turn,
        refused: Refused,
        budget: &mut RetryBudget<'_>,
    ) -> Result<Begun, AcquireError> {
        let environment = &self.context.environment;
        turn.refused(&refused.refusal);
        let is_unanswered = refused.refusal.is_unanswered(environment.now());
        let next = match budget.next_attempt(environment, is_unanswered) {
            None if budget.retries_splits() && refused.is_split().await => {
                budget.next_behind_a_split(environment)
            }
            next => next,
        };
        let Some(next) = next else {
            // The next caller need not wait for the error's details.
            drop(turn);
            return Err(refused.conclude(budget).await);
        };
        let ended = environment.now();
        let watch = refused.watch();
        let came_free = {
            let free = pin!(async {
                let Some(watch) = &watch else {
                    return std::future::pending().await;
                };
                watch.free().await;
                // By now the votes that were missing when the attempt was decided have arrived.
                let wakeups_count_from = if refused.is_behind_others() {
                    budget.wakeups_count_behind_others(environment, ended)
                } else {
                    budget.wakeups_count_from(environment, ended, refused.is_divided())
                };
                environment.clock.sleep_until(wakeups_count_from).await;
                watch.free().await;
            });
            let is_blind = || refused.is_blind(watch.as_ref());
            turn.pause_looking(next, is_blind, free).await
        };
        if came_free {
            let rounds = turn.comes_free(next);
            let resource = &refused.refusal.resource;
            self.take_break(&mut turn, (rounds, resource), Some(next), budget)
                .await;
        }
        if turn.attempt(self.context.node_timeout) {
            return Ok((turn, None));
        }
        // This future was not polled for so long that another caller took the turn.
        let line_key = turn.line_key().clone();
        let nodes = Arc::clone(&line_key.nodes);
        let resource = refused.refusal.resource.clone();
        // The nodes need not report to a caller without the turn.
        drop((turn, watch, refused));
        let arrival = Queued::arrive(&self.lines, line_key);
        self.wait(arrival, (&nodes, &resource), budget).await
    }

    /// The lease of an attempt that has won.
    fn won(
        &self,
        claim: Arc<Claim>,
        terms: Terms,
        request: &Request,
        budget: &RetryBudget<'_>,
        turn: Turn,
    ) -> Lease {
        let turn = if claim.kind.turn() == TurnRule::PassOn {
            turn.pass_on_won();
            None
        } else {
            Some(turn.hold(&terms, &claim.token))
        };
        Lease::new(&self.leases, claim, request, budget, terms, turn)
    }

    /// Moves the claim of the previous lease to the next holder.
    fn take_over(
        &self,
        left: LeftClaim,
        request: &Request,
        budget: &RetryBudget<'_>,
        turn: Turn,
    ) -> Lease {
        let terms = left.terms(self.context.now());
        let claim = left.take_over();
        let turn = Some(turn.hold(&terms, &claim.token));
        Lease::new(&self.leases, claim, request, budget, terms, turn)
    }

    /// The error for a caller that gave up.
    fn gave_up(
        &self,
        nodes: &NodeSet,
        last_known: Option<LastKnown>,
        budget: &RetryBudget<'_>,
    ) -> AcquireError {
        let now = self.context.now();
        let waited = now.saturating_since(budget.began);
        match last_known {
            Some(LastKnown::Held(token, until)) => {
                let mut holding = Holding::by(token.as_bytes());
                holding.remaining = Remaining::Expires(until.saturating_since(now));
                let contended = Contended::by(holding);
                AcquireError::Contended(Contended {
                    waited,
                    ..contended
                })
            }
            Some(LastKnown::Refused(refusal)) => refusal.for_waiter(now, waited),
            // No attempt of the callers ahead was decided since this caller came.
            None => AcquireError::Unavailable(Unavailable {
                granted: 0,
                needed: majority(nodes.len()),
                // No node is at fault: this caller asked none.
                nodes: NodeReport::of_round(
                    nodes.iter().map(|node| node.name()),
                    vec![None; nodes.len()],
                    Duration::ZERO,
                    Duration::MAX,
                ),
                too_late: None,
                attempts: 0,
                waited,
            }),
        }
    }
}

/// Refuses a lock over no node, or over more than there are seats.
pub(super) fn check_number(nodes: &NodeSet) -> Result<(), Invalid> {
    match nodes.len() {
        1..=MOST_NODES => Ok(()),
        other => Err(Invalid::new(format!(
            "a lock over {other} nodes; give it 1 to {MOST_NODES}"
        ))),
    }
}

fn full(standing: usize) -> AcquireError {
    AcquireError::Contended(Contended {
        waiters: standing,
        ..Contended::by(Holding::default())
    })
}
