//! Taking a lock over by a ticket: one attempt, as the successor of the giver.
#![doc = include_str!("claim.md")]

use std::sync::Arc;
use std::time::Duration;

use crate::error::{AcquireError, Brief, NodeOutcome, Unavailable};
use crate::lease::{Lease, LeasePlace};
use crate::model::invalid::Invalid;
use crate::model::request::{Request, Retry, RetryLimit};
use crate::model::ticket::Ticket;
use crate::node::{Holding, NodeSet};
use crate::quorum::majority;
use crate::waiting::budget::RetryBudget;

use super::Client;
use super::acquire::check_number;
use super::asks::PlainKeys;
use super::attempt::{AttemptOutcome, attempt};

/// The reason why a ticket gave no lock. The attempt leaves nothing on a node that answered.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// No majority holds the giver's token any more. The ticket is of no further use.
    #[error(transparent)]
    Spent(TicketSpent),
    /// Too few nodes answered, or too late for the lock to be useful. The ticket may be spent by this
    /// attempt, as it may have taken the lock over on some nodes and released it there.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// The request itself cannot be served. The ticket is as good as before.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// The error of a ticket that came second, or too late.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TicketSpent {
    /// The key of the present holder, if a node told it.
    pub holding: Option<Holding>,
    /// The time that the attempt took.
    pub waited: Duration,
}

impl std::fmt::Display for TicketSpent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the ticket is spent: ")?;
        match &self.holding {
            Some(holding) => write!(f, "the lock is {holding}")?,
            None => f.write_str("it was claimed before, or the giver's keys have expired")?,
        }
        write!(f, "; found out in {}", Brief(self.waited))
    }
}

impl std::error::Error for TicketSpent {}

impl Client {
    /// Takes the lock of `ticket` over from its giver. It is one attempt, with a token, a validity and, if
    /// the request asks for one, a fencing token of its own; the giver's is lower. It succeeds if a majority
    /// of `nodes` still holds the giver's token. Of the request's retries none is made, and it does not
    /// stand in line.
    ///
    /// A ticket is good once. Of several claims at most one succeeds. If they come at the same moment, each
    /// may get some nodes, and none a majority; the lock is then free once the giver's keys have expired.
    ///
    /// # Errors
    /// [`ClaimError::Spent`] if no majority holds the giver's token any more, because another claim came
    /// first or because the keys have expired; [`ClaimError::Unavailable`] if too few nodes answered;
    /// [`ClaimError::Invalid`] before anything is sent, also if the request is for another resource than
    /// the ticket, or for permits, or reads or writes.
    ///
    /// # Cancellation
    /// If this future is dropped, every node that the attempt may have reached is sent the release. The
    /// ticket may be spent then.
    pub async fn claim(
        &self,
        nodes: &NodeSet,
        ticket: Ticket,
        request: &Request,
    ) -> Result<Lease, ClaimError> {
        request.check()?;
        check_number(nodes)?;
        if request.resource != *ticket.resource() {
            return Err(ClaimError::Invalid(Invalid::new(format!(
                "the ticket is for `{}`, and not for `{}`; claim what it is for",
                ticket.resource(),
                request.resource,
            ))));
        }
        if request.kind.permits().is_some() {
            return Err(ClaimError::Invalid(Invalid::new(format!(
                "the ticket is for the lock `{}`, and not for one of several permits; claim it without `permits`",
                ticket.resource(),
            ))));
        }
        if request.kind.is_shared() {
            return Err(ClaimError::Invalid(Invalid::new(format!(
                "the ticket is for the plain lock `{}`, and not for one that reads or writes; claim it without `mode`",
                ticket.resource(),
            ))));
        }
        let client = &*self.shared;
        let environment = &client.context.environment;
        let keys = request.resource.keys_under(&client.context.key_prefix)?;
        if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
            client.check_slots(&**node, &keys, request)?;
        }
        let retry = Retry {
            limit: RetryLimit::Count(0),
            ..request.retry
        };
        let mut budget = RetryBudget::new(environment, &retry, client.context.node_timeout);
        let timeout = budget.begin_attempt(environment, request.ttl);
        let (keys, giver) = (&keys, Some(ticket.token()));
        let asks = PlainKeys {
            keys,
            giver,
            shared: None,
        };
        match attempt(&client.context, nodes, request, asks, timeout).await {
            AttemptOutcome::Acquired(claim, terms, ()) => {
                let leases: &Arc<_> = &client.leases;
                let place = LeasePlace::Nowhere;
                Ok(Lease::new(leases, claim, request, &budget, terms, place))
            }
            AttemptOutcome::Refused(refused) => Err(refused.conclude(&budget).await.into()),
        }
    }
}

impl From<AcquireError> for ClaimError {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Contended(contended) => Self::Spent(TicketSpent {
                holding: Some(contended.holding),
                waited: contended.waited,
            }),
            AcquireError::Unavailable(error) => {
                let lost = error
                    .nodes
                    .iter()
                    .filter(|node| matches!(node.outcome, NodeOutcome::Held | NodeOutcome::Absent));
                let (lost, configured) = (lost.count(), error.granted + error.nodes.len());
                if configured - lost < majority(configured) {
                    let waited = error.waited;
                    let holding = None;
                    return Self::Spent(TicketSpent { holding, waited });
                }
                Self::Unavailable(error)
            }
            AcquireError::Invalid(invalid) => Self::Invalid(invalid),
            // A claim does not look for runs.
            other @ AcquireError::AlreadyRun(_) => Self::Invalid(Invalid::new(other.to_string())),
        }
    }
}
