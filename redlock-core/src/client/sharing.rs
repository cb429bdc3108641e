//! Readers and writers on their way to a lock: the place of a waiting writer at the nodes, and the entry
//! that readers of one process share.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::context::Context;
use crate::env::sweep::{Keeps, sweep};
use crate::env::{Environment, Moment};
use crate::lease::{Lease, LeaseHandle, LeasePlace, LeaseShared};
use crate::model::kind::Kind;
use crate::model::request::Request;
use crate::model::resource::Resource;
use crate::node::NodeSet;
use crate::node::operation::{Operation, Want};
use crate::node::sharing::{Sharing, SharingKeys};
use crate::quorum::claim::Claim;
use crate::quorum::claim::sharing::SharedAttempt;
use crate::quorum::round::{Goal, Round};
use crate::quorum::terms::Terms;
use crate::waiting::budget::RetryBudget;
use crate::waiting::{LineKey, Lines, Turn};

use super::ClientShared;

/// A caller that reads or writes. A writer leaves its intent on nodes that refuse it, under one id for all
/// of its attempts. Dropping the caller takes the intent back.
pub(super) struct SharedCaller {
    attempt: SharedAttempt,
    context: Arc<Context>,
    nodes: NodeSet,
    keys: Resource,
    /// True if a node may have the intent, and no lease takes it back.
    is_intent_left: bool,
}

impl SharedCaller {
    /// `None` for a request that is neither a reader's nor a writer's.
    pub(super) fn of(
        context: &Arc<Context>,
        line_key: &LineKey,
        request: &Request,
        budget: &RetryBudget<'_>,
    ) -> Option<Box<Self>> {
        if !request.kind.is_shared() {
            return None;
        }
        let advice = budget.advice();
        let waits = request.kind == Kind::Write && !advice.is_zero();
        let keys = SharingKeys::beside(&line_key.keys, &context.key_prefix);
        Some(Box::new(Self {
            attempt: SharedAttempt {
                keys: Arc::new(keys),
                kind: request.kind,
                intent: waits.then(|| context.fresh_token()),
                advice,
            },
            context: Arc::clone(context),
            nodes: Arc::clone(&line_key.nodes),
            keys: line_key.keys.clone(),
            is_intent_left: false,
        }))
    }

    /// The next attempt, which may leave the intent.
    pub(super) fn asks(&mut self) -> &SharedAttempt {
        self.is_intent_left = self.attempt.intent.is_some();
        &self.attempt
    }

    /// Call it if the first attempt has won: the release of its lease takes the intent back.
    pub(super) fn has_won_at_once(&mut self) {
        self.is_intent_left = false;
    }
}

impl Drop for SharedCaller {
    fn drop(&mut self) {
        if !self.is_intent_left {
            return;
        }
        let attempt = &self.attempt;
        let sharing = Sharing::new(Arc::clone(&attempt.keys), attempt.kind);
        let sharing = sharing.intent(attempt.intent.clone());
        // It goes behind the acquisitions on each connection, and is owed if it cannot be delivered. No lock
        // has this token.
        let token = self.context.fresh_token();
        let ttl = attempt.advice;
        let operation = Operation::new(self.keys.clone(), token, Want::Release { ttl });
        let operation = Arc::new(operation.with_sharing(Some(sharing)));
        Round::start(&self.nodes, &operation, Goal::All, |_| true);
    }
}

/// The young read leases of a client, for readers that come a moment later: they share the lease, and its
/// one entry on each node.
#[derive(Default)]
pub(crate) struct YoungReads {
    state: Mutex<YoungState>,
}

#[derive(Default)]
struct YoungState {
    leases: HashMap<LineKey, Young>,
    /// When a lease of the line is no longer young. A line may have had several since.
    until: VecDeque<(Moment, LineKey)>,
    /// True if a sweep is under way.
    is_swept: bool,
}

/// A lease, and when it is no longer young.
struct Young {
    shared: Weak<LeaseShared>,
    generation: u32,
    until: Moment,
}

impl YoungReads {
    /// A holder of a young lease that suits `request`. `None` if there is none, or if a writer of this
    /// client waits for the lock.
    pub(super) fn join(
        &self,
        lines: &Lines,
        line_key: &LineKey,
        request: &Request,
    ) -> Option<Lease> {
        let handle = {
            let state = self.state.lock();
            let young = state.leases.get(line_key)?;
            LeaseHandle {
                shared: young.shared.upgrade()?,
                generation: young.generation,
            }
        };
        let writers = LineKey {
            kind: Kind::Write,
            ..line_key.clone()
        };
        let may_join = handle.held_for() < lines.longest_share() && !lines.is_in_use(&writers);
        may_join.then(|| handle.share(request)).flatten()
    }

    /// Remembers a lease that was acquired just now.
    pub(super) fn opened(
        self: &Arc<Self>,
        environment: &Environment,
        longest: Duration,
        line_key: &LineKey,
        lease: &Lease,
    ) {
        if longest.is_zero() {
            return;
        }
        let now = lease.shared.now();
        let until = now.saturating_add(longest);
        let young = Young {
            shared: Arc::downgrade(&lease.shared),
            generation: lease.handle.generation,
            until,
        };
        let sweeps = {
            // Dropped outside of the mutex: they may hold the last of a node.
            let _forgotten;
            let mut state = self.state.lock();
            _forgotten = state.forget(now);
            state.leases.insert(line_key.clone(), young);
            state.until.push_back((until, line_key.clone()));
            !std::mem::replace(&mut state.is_swept, true)
        };
        if sweeps {
            sweep(environment, self);
        }
    }
}

impl YoungState {
    /// Forgets leases that are no longer young. Returns what the caller drops once the state is unlocked.
    fn forget(&mut self, now: Moment) -> Vec<(LineKey, Option<(LineKey, Young)>)> {
        let mut forgotten = Vec::new();
        while self.until.front().is_some_and(|(until, _)| *until <= now) {
            let Some((_, line_key)) = self.until.pop_front() else {
                break;
            };
            let young = self.leases.get(&line_key);
            let is_young = young.is_some_and(|young| young.until > now);
            let lease = (!is_young).then(|| self.leases.remove_entry(&line_key));
            forgotten.push((line_key, lease.flatten()));
        }
        forgotten
    }
}

/// Each young lease is kept under the key of its line, which keeps nodes alive.
impl Keeps for YoungReads {
    fn forget(&self, now: Moment) -> bool {
        // Dropped outside of the mutex: they may hold the last of a node.
        let _forgotten;
        let mut state = self.state.lock();
        _forgotten = state.forget(now);
        state.is_swept = !state.until.is_empty();
        state.is_swept
    }
}

impl ClientShared {
    /// The lease of an attempt that has won.
    pub(super) fn won(
        &self,
        claim: Arc<Claim>,
        terms: Terms,
        request: &Request,
        budget: &RetryBudget<'_>,
        turn: Turn,
    ) -> Lease {
        if request.kind != Kind::Read {
            let place = LeasePlace::Line(turn.hold(&terms, &claim.token));
            return Lease::new(&self.leases, claim, request, budget, terms, place);
        }
        let place = LeasePlace::Passed;
        let lease = Lease::new(&self.leases, claim, request, budget, terms, place);
        let longest = self.lines.longest_share();
        let environment = &self.context.environment;
        self.reads
            .opened(environment, longest, turn.line_key(), &lease);
        // The turn goes to the next reader at once, and not when the lease ends.
        drop(turn);
        lease
    }

    /// A holder of a read lease of this client, if `request` is a reader's and may share one.
    pub(super) fn join_readers(&self, line_key: &LineKey, request: &Request) -> Option<Lease> {
        let is_reader = request.kind == Kind::Read;
        is_reader
            .then(|| self.reads.join(&self.lines, line_key, request))
            .flatten()
    }
}
