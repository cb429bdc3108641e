//! Readers and writers on their way to a lock: the place of a waiting writer at the nodes.

use std::sync::Arc;

use crate::context::Context;
use crate::lease::{Lease, LeasePlace};
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
use crate::waiting::{LineKey, Turn};

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
        // The turn goes to the next reader at once, and not when the lease ends.
        turn.pass_on_won();
        Lease::new(
            &self.leases,
            claim,
            request,
            budget,
            terms,
            LeasePlace::Passed,
        )
    }
}
