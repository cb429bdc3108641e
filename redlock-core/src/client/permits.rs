//! An acquisition of permits: what it asks for, and what the nodes' answers say of the permits.

use std::sync::Arc;

use crate::context::Context;
use crate::env::About;
use crate::env::caught::warn_throttled;
use crate::error::AcquireError;
use crate::lease::{Lease, LeasePlace};
use crate::model::kind::{Kind, Permits};
use crate::model::permits::{CountRecord, PermitSet};
use crate::model::request::Request;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::{NodeSet, PermitOrder};
use crate::quorum::permits::{PermitKeys, Preferred, free_at_majority, other_count};
use crate::quorum::round::Round;
use crate::waiting::budget::RetryBudget;
use crate::waiting::{Arrival, LineKey, Queued};

use super::ClientShared;
use super::attempt::{AttemptOutcome, attempt};

/// The permits that an attempt asks for.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(super) keys: Arc<PermitKeys>,
    pub(super) permits: Permits,
    pub(super) preferred: Preferred,
}

/// What an attempt that won says of the permits.
#[derive(Default)]
pub(crate) struct WonPermits {
    pub(crate) permits: PermitSet,
    pub(super) other_count: Option<CountRecord>,
}

impl WonPermits {
    /// The permits that a majority granted, if one did.
    pub(super) fn of(acquisition: &Round) -> Option<Self> {
        if !acquisition.tally().is_won() {
            return None;
        }
        let (permits, reports) = acquisition.permits();
        Some(Self {
            permits: permits?,
            other_count: other_count(&reports),
        })
    }
}

impl Asked {
    /// The permits that `request` asks for. `key` is its lock key.
    fn by(permits: Permits, key: &Resource, request: &Request, context: &Context) -> Self {
        let keys = PermitKeys::new(key, permits, &context.key_prefix, request.fencing);
        Self {
            keys: Arc::new(keys),
            permits,
            preferred: Preferred::default(),
        }
    }

    /// The order in which the nodes try the permits for the attempt with `token`.
    pub(super) fn order(&self, token: &OwnerToken) -> PermitOrder {
        self.keys.order(self.permits.take(), self.preferred, token)
    }

    /// The nodes refused an attempt. The next one asks first for what a majority called free.
    pub(super) fn learn(&mut self, acquisition: &Round, configured: usize) -> Option<CountRecord> {
        let (_, reports) = acquisition.permits();
        self.preferred.free = free_at_majority(&reports, configured);
        other_count(&reports)
    }
}

impl ClientShared {
    /// The same as an acquisition of a plain lock, but for the turn: it is passed on as soon as an attempt has
    /// won, since there may be another permit for the next caller.
    pub(super) async fn acquire_permits(
        &self,
        nodes: &NodeSet,
        request: &Request,
        permits: Permits,
    ) -> Result<Lease, AcquireError> {
        let context = &self.context;
        let key = request.resource.keys_under(&context.key_prefix)?;
        if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
            self.check_slots(&**node, &key, request)?;
        }
        let mut asked = Asked::by(permits, &key, request, context);
        let line_key = LineKey {
            keys: asked.keys.all().clone(),
            // The keys tell this line from the others.
            kind: Kind::Exclusive,
            nodes: Arc::clone(nodes),
        };
        let mut budget =
            RetryBudget::new(&context.environment, &request.retry, context.node_timeout)
                .with_splits(request.split_retries);
        let mut turn = match Queued::arrive(&self.lines, line_key) {
            Arrival::Turn(turn, _) => turn,
            // No claim is handed over.
            other => self.wait(other, nodes, &mut budget).await?.0,
        };
        loop {
            let timeout = budget.begin_attempt(&context.environment, request.ttl);
            asked.preferred.released = turn.take_released();
            let refused = match attempt(context, nodes, request, &asked, timeout).await {
                AttemptOutcome::Acquired(claim, terms, won) => {
                    self.warn_of(nodes, won.other_count, request, &asked);
                    let place = LeasePlace::permits(&turn, won.permits);
                    drop(turn);
                    let leases = &self.leases;
                    return Ok(Lease::new(leases, claim, request, &budget, terms, place));
                }
                AttemptOutcome::Refused(refused) => refused,
            };
            let other_count = refused.teach(&mut asked);
            self.warn_of(nodes, other_count, request, &asked);
            turn = self.pause(turn, refused, &mut budget).await?.0;
        }
    }

    /// Warns that another process uses the resource with another number of permits.
    fn warn_of(
        &self,
        nodes: &NodeSet,
        other: Option<CountRecord>,
        request: &Request,
        asked: &Asked,
    ) {
        let Some(other) = other else {
            return;
        };
        let pools: Vec<_> = nodes.iter().map(|node| node.name()).collect();
        warn_throttled!(
            self.leases.throttles,
            About::pools(pools.join(",")),
            "processes disagree about the number of permits of a resource: each obeys its own number, so up \
             to the larger one may hold; give the lock the same `permits` everywhere",
            resource = %request.resource,
            permits = asked.permits.count(),
            other_permits = other.count(),
            other_owner = %other.owner()
        );
    }
}
