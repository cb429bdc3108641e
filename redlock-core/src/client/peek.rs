//! A look at a lock, without taking it.

use std::sync::Arc;

use crate::env::timeout::before;
use crate::kinds::looks;
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::node::NodeSet;
use crate::node::hash_slot::check_slots;
use crate::quorum::peek::LockStatus;
use crate::quorum::round::{Goal, Round};

use super::Client;
use super::acquire::check_number;

impl Client {
    /// What a majority of `nodes` says of the lock on `resource`, within the node timeout. It only reads:
    /// nothing changes on the nodes, and neither holders nor waiters notice.
    ///
    /// The answer is true of a moment that has passed when it arrives. It serves people, dashboards and
    /// logs. Only [`Client::acquire`] excludes another holder.
    ///
    /// If there are several names, each node tells of the first name that is locked, in canonical order.
    ///
    /// # Errors
    /// [`Invalid`] for a name that no lock can have, for keys that are in several hash slots of a Redis
    /// Cluster, and for a set without nodes. Nodes that fail are no error: see
    /// [`LockStatus::Undecided`].
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    ///
    /// # Example: who is running the job
    /// ```
    /// use std::sync::Arc;
    /// use redlock_core::peek::LockStatus;
    /// use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let io = IoThread::start()?;
    /// let node = MemoryNode::new("a", io.environment().clock);
    /// let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    /// let client = Client::new(io.environment());
    ///
    /// let lease = client.acquire(&nodes, &Request::new("job")).await?;
    /// match client.peek(&nodes, &"job".into()).await? {
    ///     LockStatus::Held(holder) => assert_eq!(holder.owner(), Some(client.owner())),
    ///     other => panic!("{other}"),
    /// }
    /// lease.release().await;
    /// assert!(client.peek(&nodes, &"job".into()).await?.is_free());
    /// # Ok(())
    /// # }
    /// # let runtime = tokio::runtime::Runtime::new().unwrap();
    /// # runtime.block_on(example()).unwrap();
    /// ```
    pub async fn peek(&self, nodes: &NodeSet, resource: &Resource) -> Result<LockStatus, Invalid> {
        let context = &self.shared.context;
        resource.check()?;
        check_number(nodes)?;
        let keys = resource.keys_under(&context.key_prefix)?;
        if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
            check_slots(&**node, &keys, &[])?;
        }
        let question = Arc::new(looks::peek(&keys));
        let began = context.now();
        let until = began.saturating_add(context.node_timeout);
        let round = Round::start(nodes, &question, Goal::Known);
        before(context.clock(), until, round.decided()).await;
        let elapsed = context.now().saturating_since(began);
        let names = nodes.iter().map(|node| node.name());
        let answers = round.answers();
        Ok(LockStatus::of(
            names,
            answers,
            elapsed,
            context.node_timeout,
        ))
    }
}
