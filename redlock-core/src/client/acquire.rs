//! Turns a request into a lease: a caller waits in line, attempts, and pauses between attempts.

use std::future::pending;
use std::sync::Arc;

use crate::context::Context;
use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::AcquireError;
use crate::io_thread::share_woken_tasks;
use crate::kinds::{Advice, ProtocolArgs, runs};
use crate::lease::{ClientParts, Lease, LeaseShared};
use crate::model::resource::Resource;
use crate::node::NodeSet;
use crate::node::hash_slot::check_slots;
use crate::quorum::claim::Claim;
use crate::quorum::lock_protocol::{LockProtocol, TurnRule};
use crate::quorum::round::{Goal, Round};
use crate::quorum::validity::Validity;
use crate::request::Request;
use crate::waiting::budget::RetryBudget;
use crate::waiting::fair_share::let_others_go_first;
use crate::waiting::quorum_watch::{QuorumWatch, any_free, any_freed};
use crate::waiting::refusal_error::{refusal_error, waiter_error};
use crate::waiting::refused_attempt::{RefusedAttempt, SoughtLock};
use crate::waiting::{LineKey, Turn};

use super::attempt::attempt;
use super::{check_nodes, last_run};

/// Acquires the lock of `request`. See [`Client::acquire`](super::Client::acquire).
pub(super) async fn acquire(
    parts: &Arc<ClientParts>,
    nodes: &NodeSet,
    request: &Request,
) -> Result<Lease, AcquireError> {
    let mut acquirer = Acquirer::new(parts, nodes, request)?;
    // Compete for the lock only if the job has not run yet in the request's period.
    acquirer.check_run(acquirer.budget.last_attempt).await?;
    let lease = acquirer.compete().await?;
    // Check again under the lock. This check finds the record of a holder that ran the job since, because the record
    // went before the holder's release on each connection. The caller's limit does not bound the check: a caller that
    // got the lock late would run the job again.
    if let Err(already_run) = acquirer.check_run(None).await {
        lease.release().await;
        return Err(already_run);
    }
    Ok(lease)
}

/// A caller that wants a lock. Some kinds of locks leave the client's name on nodes that refuse an attempt. Dropping
/// the caller withdraws the name.
pub(super) struct Acquirer<'a> {
    parts: &'a Arc<ClientParts>,
    pub(super) nodes: &'a NodeSet,
    pub(super) request: &'a Request,
    pub(super) protocol: Arc<dyn LockProtocol>,
    /// The names of the resource with the key prefix. A kind may have more keys.
    keys: Resource,
    budget: RetryBudget<'a>,
    /// True if the last attempt continued a streak with a permit released in this process.
    is_in_streak: bool,
    has_won: bool,
    /// The least count of the next fencing counters, which asks for a longer block.
    pub(super) least_count: u64,
}

impl<'a> Acquirer<'a> {
    fn new(
        parts: &'a Arc<ClientParts>,
        nodes: &'a NodeSet,
        request: &'a Request,
    ) -> Result<Self, AcquireError> {
        request.check()?;
        check_nodes(nodes)?;
        let context = &parts.context;
        let (environment, prefix) = (&context.environment, &context.key_prefix);
        let mut budget = RetryBudget::new(environment, request, context.node_timeout);
        budget.splits = request.split_retries;
        let keys = request.resource.keys_under(prefix)?;
        let client = &context.client_token;
        let protocol = request.kind.protocol(&ProtocolArgs {
            keys: &keys,
            prefix,
            is_fenced: request.fencing,
            advice: budget.advice().map(|lasts| Advice {
                client,
                lasts,
                call: budget.call(),
            }),
        });
        if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
            let mut auxiliary = protocol.auxiliary_keys();
            auxiliary.extend(request.once_per.map(|_| runs::record_key(&keys, prefix)));
            check_slots(&**node, &keys, &auxiliary)?;
        }
        Ok(Self {
            parts,
            nodes,
            request,
            protocol,
            keys,
            budget,
            is_in_streak: false,
            has_won: false,
            least_count: 0,
        })
    }

    pub(super) fn context(&self) -> &'a Arc<Context> {
        &self.parts.context
    }

    fn line_key(&self) -> LineKey {
        LineKey::new(self.protocol.line_keys(), self.request.kind, self.nodes)
    }

    /// Returns the sought lock, for a refusal that other callers in line may read.
    pub(super) fn sought_lock(&self) -> SoughtLock {
        SoughtLock {
            context: Arc::clone(self.context()),
            nodes: Arc::clone(self.nodes),
            protocol: Arc::clone(&self.protocol),
            resource: self.request.resource.clone(),
        }
    }

    /// Asks the nodes, until `end`, whether the job of the request's period was run.
    ///
    /// # Errors
    /// [`AcquireError::AlreadyRun`] if a majority remembers a run.
    async fn check_run(&self, end: Option<Moment>) -> Result<(), AcquireError> {
        let Some(period) = self.request.once_per else {
            return Ok(());
        };
        let run = last_run(self.context(), self.nodes, &self.keys, period, end).await;
        run.map_or(Ok(()), |run| Err(AcquireError::AlreadyRun(run)))
    }

    /// Waits in line and asks the nodes, while the budget lasts.
    async fn compete(&mut self) -> Result<Lease, AcquireError> {
        loop {
            let key = self.line_key();
            let turn = self.parts.lines.turn(key, &mut self.budget).await;
            let turn =
                turn.map_err(|known| waiter_error(known, &self.sought_lock(), &self.budget))?;
            if let Some(ended) = self.use_turn(turn).await {
                return ended;
            }
            // Another caller took the turn because this future was polled late. Wait in line again.
        }
    }

    /// Asks the nodes until the lock is acquired or the budget is used up. Returns `None` if the turn was taken away.
    async fn use_turn(&mut self, turn: Turn) -> Option<Result<Lease, AcquireError>> {
        loop {
            if let Some(claim) = turn.take_handed_claim() {
                let clock = self.context().clock();
                if claim.suits(self.request, &*self.protocol, clock) {
                    let (claim, validity) = claim.take_over(clock.now());
                    return Some(Ok(self.begin_lease(claim, validity, turn)));
                }
                self.least_count = claim.next_count();
                // Release first: each connection keeps the order, so release and acquisition share one round trip.
                claim.release();
            }
            turn.pause_after_grant(self.budget.last_attempt).await;
            let other_process = if turn.questions_due() > 0 {
                let lock = self.sought_lock();
                let_others_go_first(&turn, &lock, self.budget.last_attempt).await
            } else {
                None
            };
            let was_met_in_break = other_process.is_some();
            let attempted = match other_process {
                Some(refusal) => Err(refusal),
                None => self.ask_nodes(&turn).await?,
            };
            let refusal = match attempted {
                Ok((claim, validity)) => return Some(Ok(self.begin_lease(claim, validity, turn))),
                Err(refusal) => Arc::new(refusal),
            };
            turn.record_refusal(&refusal);
            // A break uses up nothing of the budget, so an attempt follows even if the break met another process.
            if !self.pause(&turn, &refusal).await && !was_met_in_break {
                // Pass the turn on first, because collecting the error's details takes time.
                drop(turn);
                return Some(Err(refusal_error(&refusal, &self.budget).await));
            }
        }
    }

    /// Asks the nodes for the lock once. Returns `None` if another caller took the turn.
    async fn ask_nodes(
        &mut self,
        turn: &Turn,
    ) -> Option<Result<(Arc<Claim>, Validity), RefusedAttempt>> {
        // Read the clock before the first byte is sent. A node may count the ttl from then on.
        let started = self.context().now();
        let mut place = turn.start_attempt(started)?;
        place.was_refused |= self.budget.attempts > 0;
        self.is_in_streak = place.is_in_streak;
        self.protocol.prepare_attempt(place);
        let window = self.budget.begin_attempt(started, self.request.ttl);
        let attempted = attempt(self, window).await;
        self.has_won = attempted.is_ok();
        Some(attempted)
    }

    fn begin_lease(&self, claim: Arc<Claim>, validity: Validity, turn: Turn) -> Lease {
        let turn = match claim.protocol.turn_rule() {
            TurnRule::PassOn => {
                turn.pass_on(&validity, self.is_in_streak, self.protocol.permits());
                None
            }
            TurnRule::Keep | TurnRule::HandOver => Some(turn.keep(&validity, &claim.token)),
        };
        let (parts, request, budget) = (self.parts, self.request, &self.budget);
        Lease::new(LeaseShared::new(
            parts, claim, request, budget, validity, turn,
        ))
    }

    /// Waits until the next attempt. Returns false if the budget allows no further attempt.
    async fn pause(&mut self, turn: &Turn, refusal: &RefusedAttempt) -> bool {
        let environment = &refusal.lock.context.environment;
        let budget = &mut self.budget;
        let now = environment.now();
        let next = match budget.next_pause(environment, now, refusal.is_unanswered(now)) {
            None if budget.splits > 0 && refusal.is_split().await => {
                budget.next_after_split(environment)
            }
            next => next,
        };
        let Some(next) = next else { return false };
        let watches = refusal.watches();
        let Some(watch) = watches.first() else {
            turn.pause(next, pending()).await;
            return true;
        };
        turn.pause(next, until_free(turn, refusal, &watches, budget))
            .await;
        turn.record_seen(watch);
        true
    }
}

/// Completes when an attempt may win. Then the lock is free, and the callers that go first had time to ask for it.
async fn until_free(
    turn: &Turn,
    refusal: &RefusedAttempt,
    watches: &[QuorumWatch],
    budget: &mut RetryBudget<'_>,
) {
    let environment = &refusal.lock.context.environment;
    let (clock, protocol) = (&*environment.clock, &refusal.lock.protocol);
    let (began, watch) = (clock.now(), &watches[0]);
    let (shares, has_queue) = (protocol.is_shared(), protocol.permits().is_some());
    let is_free = tokio::select! {
        biased;
        () = any_free(watches) => true,
        // Other readers may hold the lock now. They may have come before a majority of the nodes was free.
        () = watch.until_changed(), if shares => false,
        // The nodes stay silent when the callers ahead in the queue have left.
        () = watch.until_blind(), if has_queue => false,
    };
    // Late votes have arrived by now, so count again.
    let is_behind = refusal.is_behind_others();
    if has_queue && !is_free && !is_behind {
        return any_free(watches).await;
    }
    let spread = if is_behind && has_queue {
        budget.spread_in_queue(environment)
    } else if is_behind || !is_free {
        budget.spread_behind_others(environment)
    } else {
        budget.spread(environment, refusal.is_divided())
    };
    let until = began.saturating_add(spread);
    if is_behind && !shares {
        // Let the callers ahead take this release, and wait for the next one, until the pause ends at the latest.
        before(clock, until, any_freed(watches)).await;
    } else {
        clock.sleep_until(until).await;
    }
    match protocol.turn_rule() {
        TurnRule::HandOver => turn.until_first(watch).await,
        _ if shares || !is_free => {}
        _ => any_free(watches).await,
    }
}

impl Drop for Acquirer<'_> {
    fn drop(&mut self) {
        // The release of a lease also withdraws the name that the winning attempt left.
        let was_refused = self.budget.attempts > u32::from(self.has_won);
        if self.has_won && !was_refused {
            return;
        }
        let lines = &self.parts.lines;
        let is_kept = self.has_won || lines.need_mark(&self.line_key(), was_refused);
        if let Some(call) = self.protocol.withdraw_call(is_kept) {
            // Each connection sends the call after the acquisitions. The client owes the call until it is delivered.
            Round::start(self.nodes, call, Goal::All);
        }
        if !self.has_won {
            // The turn went to the next caller. Let other workers run its task, which tokio keeps for this worker.
            share_woken_tasks();
        }
    }
}
