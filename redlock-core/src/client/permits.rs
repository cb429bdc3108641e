//! An acquisition of a permit: what it asks for, and what the nodes' answers say of the permits.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::AcquireError;
use crate::lease::{Lease, LeasePlace};
use crate::model::kind::Kind;
use crate::model::request::Request;
use crate::model::token::OwnerToken;
use crate::node::{NodeSet, PermitKey};
use crate::quorum::permits::{PermitKeys, free_at_majority};
use crate::quorum::round::Round;
use crate::waiting::budget::RetryBudget;
use crate::waiting::{Arrival, LineKey, Queued};

use super::ClientShared;
use super::attempt::{AttemptOutcome, attempt};

/// The permits for an attempt, which takes one of them.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(super) keys: Arc<PermitKeys>,
    pub(super) count: u16,
    /// Permits that may be free: a majority called them free at the last attempt, or callers of this process
    /// released them since.
    preferred: BTreeSet<u16>,
}

impl Asked {
    /// The order in which the nodes try the permits for the attempt with `token`.
    pub(super) fn order(&self, token: &OwnerToken) -> Vec<PermitKey> {
        self.keys.order(&self.preferred, token)
    }

    /// The nodes refused an attempt. The next one asks first for what a majority called free.
    pub(super) fn learn(&mut self, acquisition: &Round, configured: usize) {
        self.preferred = free_at_majority(&acquisition.permit_reports(), configured);
    }
}

impl ClientShared {
    /// The same as an acquisition of a plain lock, but for the turn: it is passed on as soon as an attempt has
    /// won, since there may be another permit for the next caller.
    pub(super) async fn acquire_permit(
        &self,
        nodes: &NodeSet,
        request: &Request,
        count: u16,
    ) -> Result<Lease, AcquireError> {
        let context = &self.context;
        let key = request.resource.keys_under(&context.key_prefix)?;
        if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
            self.check_slots(&**node, &key, request)?;
        }
        let mut asked = Asked {
            keys: Arc::new(PermitKeys::new(&key, count, &context.key_prefix)),
            count,
            preferred: BTreeSet::new(),
        };
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
            other => {
                self.wait(other, (nodes, &request.resource), &mut budget)
                    .await?
                    .0
            }
        };
        loop {
            let timeout = budget.begin_attempt(&context.environment, request.ttl);
            asked.preferred.append(&mut turn.take_released());
            let refused = match attempt(context, nodes, request, &asked, timeout).await {
                AttemptOutcome::Acquired(claim, terms, permit) => {
                    let place = LeasePlace::permit(&turn, permit);
                    turn.pass_on_won();
                    let leases = &self.leases;
                    return Ok(Lease::new(leases, claim, request, &budget, terms, place));
                }
                AttemptOutcome::Refused(refused) => refused,
            };
            refused.teach(&mut asked);
            turn = self.pause(turn, refused, &mut budget).await?.0;
        }
    }
}
