//! Watching a lock without waiting for it.

use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::node::NodeSet;
use crate::waiting::ChangeWatch;

use super::Client;

impl Client {
    /// Watches `resource` on `nodes` for changes by any holder.
    ///
    /// # Errors
    /// [`Invalid`] for a key that belongs to the library.
    ///
    /// # Example: until somebody has the lock
    /// ```
    /// use std::sync::Arc;
    /// use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let io = IoThread::start()?;
    /// # let environment = io.environment();
    /// # let node = MemoryNode::new("a", environment.clock.clone());
    /// # let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    /// # let client = Client::new(environment);
    /// # io.handle().block_on(async {
    /// let watch = client.watch_changes(&nodes, &"order:42".into())?;
    /// watch.changed().await; // Each node has said how the key is.
    /// let lease = client.acquire(&nodes, &Request::new("order:42")).await?;
    /// watch.changed().await;
    /// # lease.release().await;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_changes(
        &self,
        nodes: &NodeSet,
        resource: &Resource,
    ) -> Result<ChangeWatch, Invalid> {
        let keys = resource.keys_under(&self.shared.context.key_prefix)?;
        Ok(ChangeWatch::begin(nodes, keys))
    }
}
