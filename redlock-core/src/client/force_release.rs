//! The release of a lock by somebody who does not hold it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::env::timeout::before;
use crate::error::{AcquireError, NodeReport, Unavailable};
use crate::kinds::every_key;
use crate::kinds::looks::{self, Holders};
use crate::model::resource::Resource;
use crate::node::hash_slot::check_slots;
use crate::node::{NodeSet, Vote};
use crate::quorum::majority;
use crate::quorum::round::{Goal, Round};

use super::Client;
use super::acquire::check_number;

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

impl Client {
    /// Deletes the lock on `resource` at all `nodes`, also if another process holds it: the keys of
    /// every kind of lock, and what waiting callers left. Fencing counters and the records of `once_per` stay.
    ///
    /// The nodes are asked who is on the keys, and then to delete what exactly these have. A node that is late deletes
    /// nothing of later holders.
    ///
    /// The holder does not notice at once: until its next extension, or its deadline, it believes that it has the
    /// lock. Exclusion is broken for that long. Fencing tokens stay in order.
    ///
    /// # Errors
    /// [`AcquireError::Unavailable`] unless a majority confirms within two node timeouts; some nodes may have deleted the
    /// keys. [`AcquireError::Invalid`] as [`Client::peek`].
    ///
    /// # Cancellation
    /// If the future is dropped, the nodes may have deleted the keys, or some of them.
    ///
    /// # Example
    /// ```
    /// # use std::sync::Arc;
    /// # use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let io = IoThread::start()?;
    /// # let node = MemoryNode::new("a", io.environment().clock);
    /// # let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    /// # let client = Client::new(io.environment());
    /// let _stuck = client.acquire(&nodes, &Request::new("job")).await?;
    /// let released = client.force_release(&nodes, &"job".into()).await?;
    /// assert_eq!(released.taken_from[0].owner.as_deref(), Some(client.owner()));
    /// assert!(client.peek(&nodes, &"job".into()).await?.is_free());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn force_release(
        &self,
        nodes: &NodeSet,
        resource: &Resource,
    ) -> Result<ForceReleased, AcquireError> {
        let context = &self.shared.context;
        resource.check()?;
        check_number(nodes)?;
        let prefix = &context.key_prefix;
        let keys = resource.keys_under(prefix)?;
        if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
            check_slots(&**node, &keys, &[])?;
        }
        let keys = if keys.names().len() == 1 {
            every_key(&keys, prefix)
        } else {
            // A lock with several names has no key of another kind.
            keys
        };
        let began = context.now();
        let before_it = self.holders(nodes, &keys, Vec::new()).await;
        let found: Vec<_> = before_it.iter().flatten().map(Holders::of).collect();
        let lost = found
            .iter()
            .flat_map(|it| it.holding.iter().chain(&it.waiting));
        let mut lost: Vec<_> = lost.cloned().collect();
        lost.sort_unstable();
        lost.dedup();
        let after = self.holders(nodes, &keys, lost).await;
        let waited = context.now().saturating_since(began);
        self.judge(nodes, &before_it, after, waited)
    }

    /// The answers of the nodes after they deleted what `lost` have.
    async fn holders(
        &self,
        nodes: &NodeSet,
        keys: &Resource,
        lost: Vec<Box<[u8]>>,
    ) -> Vec<Option<Vote>> {
        let context = &self.shared.context;
        let call = Arc::new(looks::force_release(keys, &lost));
        let until = context.now().saturating_add(context.node_timeout);
        let round = Round::start(nodes, &call, Goal::All);
        before(context.clock(), until, round.decided()).await;
        round.answers()
    }

    fn judge(
        &self,
        nodes: &NodeSet,
        before_it: &[Option<Vote>],
        mut after: Vec<Option<Vote>>,
        waited: Duration,
    ) -> Result<ForceReleased, AcquireError> {
        let mut taken: BTreeMap<Box<[u8]>, Vec<Arc<str>>> = BTreeMap::new();
        for ((node, was), is) in nodes.iter().zip(before_it).zip(&mut after) {
            // A node that did not tell who was on it was told by the others.
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
        let confirmed =
            |answer: &Option<Vote>| matches!(answer, Some(Vote::Held(_) | Vote::Absent));
        let granted = after.iter().filter(|answer| confirmed(answer)).count();
        for answer in after.iter_mut().filter(|answer| confirmed(answer)) {
            *answer = Some(Vote::GRANTED);
        }
        let names = nodes.iter().map(|node| node.name());
        let timeout = self.shared.context.node_timeout;
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
