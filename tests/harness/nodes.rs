//! Several independent servers.

use crate::eventually::eventually_for;
use crate::{NodeOptions, RedisNode};
use std::ops::Index;
use std::panic::Location;
use std::time::Duration;

/// Independent servers, as a Redlock client sees them. `nodes[0]` is the first one.
#[derive(Debug)]
pub struct Nodes(Vec<RedisNode>);

impl Nodes {
    /// Starts `n` servers at once.
    pub async fn start(n: usize) -> Self {
        Self::start_with(n, NodeOptions::default()).await
    }

    /// Starts `n` servers at once, all with the same options.
    pub async fn start_with(n: usize, options: NodeOptions) -> Self {
        let starting: Vec<_> = (0..n)
            .map(|_| tokio::spawn(RedisNode::start_with(options.clone())))
            .collect();
        let mut nodes = Vec::with_capacity(n);
        for node in starting {
            let node = node.await;
            nodes.push(node.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic())));
        }
        Self(nodes)
    }

    /// Returns the nodes in order.
    pub fn iter(&self) -> std::slice::Iter<'_, RedisNode> {
        self.0.iter()
    }

    /// Returns how many nodes there are, running or not.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the nodes' URLs in order.
    pub fn urls(&self) -> Vec<String> {
        self.iter().map(RedisNode::url).collect()
    }

    /// Returns a key's value on each node; `None` also for a node that is down or frozen.
    pub fn values_of(&self, key: impl AsRef<[u8]>) -> Vec<Option<Vec<u8>>> {
        let key = key.as_ref();
        self.iter()
            .map(|node| node.is_reachable().then(|| node.get(key)).flatten())
            .collect()
    }

    /// Returns the keys of all running nodes, sorted, each once.
    pub fn all_keys(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<_> = self.reachable().flat_map(RedisNode::keys).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// Returns the keys of locks, as [`assert_no_lock_keys`](Self::assert_no_lock_keys) defines them.
    pub fn lock_keys(&self) -> Vec<Vec<u8>> {
        let mut keys = self.all_keys();
        keys.retain(|key| !is_auxiliary(key));
        keys
    }

    /// Waits until all running nodes are empty. Panics after `within`, with the keys that are left.
    #[track_caller]
    pub fn assert_no_keys(&self, within: Duration) -> impl Future<Output = ()> {
        self.assert_no_keys_but(within, |_| false)
    }

    /// Waits until all running nodes have no key of a lock. Panics after `within`.
    ///
    /// Keys whose name contains `redlock:`, such as restart markers and fencing counters, may stay.
    #[track_caller]
    pub fn assert_no_lock_keys(&self, within: Duration) -> impl Future<Output = ()> {
        self.assert_no_keys_but(within, is_auxiliary)
    }

    /// Waits until all running nodes have only keys that `allowed` accepts. Panics after `within`.
    #[track_caller]
    pub fn assert_no_keys_but(
        &self,
        within: Duration,
        allowed: impl Fn(&[u8]) -> bool,
    ) -> impl Future<Output = ()> {
        let caller = Location::caller();
        async move {
            let probe = async || {
                let mut left = Vec::new();
                for node in self.reachable() {
                    let keys = node.keys();
                    let keys = keys.iter().filter(|key| !allowed(key));
                    left.extend(keys.map(|key| node.describe_key(key)));
                }
                if left.is_empty() {
                    return Ok(());
                }
                Err(format!("left behind:\n  {}", left.join("\n  ")))
            };
            eventually_for(caller, "no key to be left", within, probe).await;
        }
    }

    pub(crate) fn into_nodes(self) -> Vec<RedisNode> {
        self.0
    }

    fn reachable(&self) -> impl Iterator<Item = &RedisNode> {
        self.iter().filter(|node| node.is_reachable())
    }
}

/// True if `key` is not the key of a lock. A permit is a lock, although its name begins with `redlock:`.
pub(crate) fn is_auxiliary(key: &[u8]) -> bool {
    let contains = |text: &[u8]| key.windows(text.len()).any(|part| part == text);
    let is_permit = contains(b"redlock:permit:") && !contains(b"redlock:fence:");
    contains(b"redlock:") && !is_permit
}

impl Index<usize> for Nodes {
    type Output = RedisNode;

    fn index(&self, index: usize) -> &RedisNode {
        &self.0[index]
    }
}

impl<'a> IntoIterator for &'a Nodes {
    type Item = &'a RedisNode;
    type IntoIter = std::slice::Iter<'a, RedisNode>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<RedisNode> for Nodes {
    fn from_iter<I: IntoIterator<Item = RedisNode>>(nodes: I) -> Self {
        Self(nodes.into_iter().collect())
    }
}
