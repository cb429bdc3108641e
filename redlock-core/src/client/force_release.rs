//! Forced releases: a caller deletes the lock of another holder.

use std::fmt;

use crate::context::Context;
use crate::error::{AcquireError, NodeReport, Unavailable};
use crate::kinds::{any_kind, every_key};
use crate::model::resource::Resource;
use crate::model::token::owner_of;
use crate::node::{NodeSet, Vote};
use crate::quorum::majority;
use crate::quorum::round::Goal;

use super::{ask, checked_keys};

/// A forced release that a majority of the nodes confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForceReleased {
    /// The `host/pid` of each holder that lost the lock; `None` for a holder whose token has another format. The list is
    /// empty if no node had a key.
    pub taken_from: Vec<Option<String>>,
    /// The nodes without a confirmation, in the order of the configuration. The keys on such a node stay until their ttl,
    /// or are deleted late.
    pub unconfirmed: Vec<NodeReport>,
}

/// See [`Client::force_release`](super::Client::force_release).
pub(super) async fn force_release(
    context: &Context,
    nodes: &NodeSet,
    resource: &Resource,
) -> Result<ForceReleased, AcquireError> {
    let mut keys = checked_keys(context, nodes, resource)?;
    // A lock with several names is always of the plain kind, so it needs no further keys.
    if keys.names().len() == 1 {
        keys = every_key(&keys, &context.key_prefix);
    }
    let began = context.now();
    let question = any_kind::force_release(&keys, &[].into());
    let lost = any_kind::tokens_in(&ask(context, nodes, question, Goal::All, None).await);
    let call = any_kind::force_release(&keys, &lost);
    let answers = ask(context, nodes, call, Goal::All, None).await;
    let waited = context.now().saturating_since(began);
    // Any answer is a confirmation. If the answer names a holder, that holder acquired the lock after the first question.
    let confirmed = |vote| match vote {
        Vote::Held(_) | Vote::Absent => Vote::GRANTED,
        other => other,
    };
    let answers = answers.into_iter().map(|it| it.map(confirmed)).collect();
    let (names, timeout) = (nodes.iter().map(|node| node.name()), context.node_timeout);
    let unconfirmed = NodeReport::of_round(names, answers, u64::MAX, timeout, timeout);
    if nodes.len() - unconfirmed.len() < majority(nodes.len()) {
        let error = Unavailable::in_one_attempt(nodes.len(), unconfirmed, waited);
        return Err(AcquireError::Unavailable(error));
    }
    let owners = lost.iter().map(|token| owner_of(token).map(str::to_owned));
    Ok(ForceReleased {
        taken_from: owners.collect(),
        unconfirmed,
    })
}

/// Shows the outcome, as `taken from web-7/3121, web-8/1; c: no answer in 50 ms`.
impl fmt::Display for ForceReleased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owners = self.taken_from.iter().map(Option::as_deref);
        let owners: Vec<_> = owners.map(|it| it.unwrap_or("another client")).collect();
        if owners.is_empty() {
            f.write_str("it was free")?;
        } else {
            write!(f, "taken from {}", owners.join(", "))?;
        }
        let mut unconfirmed = self.unconfirmed.iter();
        unconfirmed.try_for_each(|node| write!(f, "; {node}"))
    }
}
