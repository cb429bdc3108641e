//! The release of a lock by somebody who does not hold it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::error::{AcquireError, NodeReport, Unavailable};
use crate::kinds::every_key;
use crate::kinds::looks::{self, Holders};
use crate::model::resource::Resource;
use crate::node::{NodeSet, Vote};
use crate::quorum::majority;
use crate::quorum::round::Goal;

use super::{ask, checked_keys};

/// A forced release that a majority of the nodes confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForceReleased {
    /// Those whose keys were deleted. Empty: no node had a key.
    pub taken_from: Vec<TakenFrom>,
    /// The nodes that did not confirm, in the order of the configuration. What they have stays until its ttl, or is
    /// deleted late.
    pub unconfirmed: Vec<NodeReport>,
}

/// Somebody who lost a lock by force.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakenFrom {
    /// The `host/pid`; `None` for a client with another format.
    pub owner: Option<String>,
    /// The nodes that had the keys and deleted them.
    pub nodes: Vec<Arc<str>>,
}

/// See [`Client::force_release`](super::Client::force_release).
pub(super) async fn force_release(
    context: &Context,
    nodes: &NodeSet,
    resource: &Resource,
) -> Result<ForceReleased, AcquireError> {
    let keys = checked_keys(context, nodes, resource)?;
    let keys = if keys.names().len() == 1 {
        every_key(&keys, &context.key_prefix)
    } else {
        // A lock with several names has no key of another kind.
        keys
    };
    let began = context.now();
    let before_it = holders(context, nodes, &keys, &[]).await;
    let found: Vec<_> = before_it.iter().flatten().map(Holders::of).collect();
    let lost = found
        .iter()
        .flat_map(|it| it.holding.iter().chain(&it.waiting));
    let mut lost: Vec<_> = lost.cloned().collect();
    lost.sort_unstable();
    lost.dedup();
    let after = holders(context, nodes, &keys, &lost).await;
    let waited = context.now().saturating_since(began);
    judge(nodes, &before_it, after, (waited, context.node_timeout))
}

/// The answers of the nodes after they deleted what `lost` have.
async fn holders(
    context: &Context,
    nodes: &NodeSet,
    keys: &Resource,
    lost: &[Box<[u8]>],
) -> Vec<Option<Vote>> {
    let call = looks::force_release(keys, lost);
    ask(context, nodes, call, Goal::All, None).await
}

fn judge(
    nodes: &NodeSet,
    before_it: &[Option<Vote>],
    mut after: Vec<Option<Vote>>,
    (waited, timeout): (Duration, Duration),
) -> Result<ForceReleased, AcquireError> {
    let mut taken: BTreeMap<Box<[u8]>, Vec<Arc<str>>> = BTreeMap::new();
    for ((node, was), is) in nodes.iter().zip(before_it).zip(&mut after) {
        // A node that did not answer both times does not show what was deleted there.
        let (Some(Vote::Held(_) | Vote::Absent), Some(answer)) = (was, &*is) else {
            continue;
        };
        let (was, left) = (was.as_ref().map(Holders::of), Holders::of(answer));
        let gone = was.into_iter().flat_map(|it| it.holding);
        for token in gone.filter(|token| !left.holding.contains(token)) {
            taken.entry(token).or_default().push(node.name().into());
        }
    }
    // A node confirms by any answer. If the answer names a holder, that holder came later.
    let confirmed = |answer: &Option<Vote>| matches!(answer, Some(Vote::Held(_) | Vote::Absent));
    let granted = after.iter().filter(|answer| confirmed(answer)).count();
    for answer in after.iter_mut().filter(|answer| confirmed(answer)) {
        *answer = Some(Vote::GRANTED);
    }
    let names = nodes.iter().map(|node| node.name());
    let unconfirmed = NodeReport::of_round(names, after, waited.max(timeout), timeout);
    let needed = majority(nodes.len());
    if granted < needed {
        return Err(AcquireError::Unavailable(Unavailable {
            granted,
            needed,
            nodes: unconfirmed,
            too_late: None,
            attempts: 1,
            waited,
        }));
    }
    let taken_from = taken.into_iter().map(|(token, nodes)| TakenFrom {
        owner: crate::model::token::owner_of(&token).map(str::to_owned),
        nodes,
    });
    Ok(ForceReleased {
        taken_from: taken_from.collect(),
        unconfirmed,
    })
}

/// `taken from web-7/3121 on a and b; c: no answer in 103 ms`
impl fmt::Display for ForceReleased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.taken_from.is_empty() {
            f.write_str("it was free")?;
        }
        for (index, TakenFrom { owner, nodes }) in self.taken_from.iter().enumerate() {
            let owner = owner.as_deref().unwrap_or("another client");
            let before = if index == 0 { "taken from " } else { ", from " };
            write!(f, "{before}{owner} on {}", nodes.join(" and "))?;
        }
        self.unconfirmed
            .iter()
            .try_for_each(|node| write!(f, "; {node}"))
    }
}
