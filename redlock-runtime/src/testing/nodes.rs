//! The nodes of a test, and their faults.

use std::collections::BTreeSet;

use redlock_core::request::RESERVED_PREFIX;
use redlock_core::{LeaseHandle, MemoryNode, Resource};

use super::TestLocks;
use super::acquisition::covers;
use crate::config::Config;
use crate::site::sites;

impl TestLocks {
    /// The node of a pool: to [`cut`](MemoryNode::cut) it off, to have it [`hang`](MemoryNode::hang)
    /// or [`fail`](MemoryNode::fail), to [`restore`](MemoryNode::restore) it, and to look into.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.node("a").cut(); // One node of three.
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// assert!(locks.node("a").keys().is_empty());
    /// # }
    /// ```
    ///
    /// # Panics
    /// If there is no such pool.
    #[track_caller]
    pub fn node(&self, pool: &str) -> &MemoryNode {
        // No closure: the panic is to name the caller's line.
        let Some(node) = self.inner.registry.memory_node(pool) else {
            let names: Vec<_> = self.pools().collect();
            panic!("there is no pool `{pool}`; there are {}", names.join(", "));
        };
        node
    }

    /// Cuts all nodes off: every acquisition is `Unavailable`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.cut_all();
    /// let refused = redlock_runtime::lock("order:42").retry_count(0).acquire().await;
    /// assert!(refused.unwrap_err().is_unavailable());
    /// # }
    /// ```
    pub fn cut_all(&self) {
        self.nodes().for_each(MemoryNode::cut);
    }

    /// Restores all nodes.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.cut_all();
    /// locks.restore_all();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// # }
    /// ```
    pub fn restore_all(&self) {
        self.nodes().for_each(MemoryNode::restore);
    }

    /// Makes the holder of `resource` lose its lock, as if its keys were gone and an extension had
    /// found that: the body is cancelled at its next await, and `lost()` completes with
    /// [`LeaseEnd::Taken`](crate::lease::LeaseEnd::Taken). Afterwards no node has the keys.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use redlock_runtime::lease::LeaseEnd;
    ///
    /// let lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// locks.lose("order:42");
    /// assert_eq!(lease.lost().await, LeaseEnd::Taken(None));
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the code under test does not hold it.
    #[track_caller]
    pub fn lose(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let leases = self.inner.journal.leases();
        let is_of = |lease: &&LeaseHandle| covers(lease.resource(), &resource);
        let lost: Vec<_> = leases.iter().filter(is_of).collect();
        let message = format_args!("`{resource}` cannot be lost: it is not held");
        self.expect(!lost.is_empty(), message);
        for lease in lost {
            self.delete_keys(lease.keys());
            lease.lose_keys();
        }
    }

    /// Has all nodes forget everything, as servers do that are flushed, or restart without their data:
    /// every lease is lost, with [`LeaseEnd::Forgotten`](crate::lease::LeaseEnd::Forgotten).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use redlock_runtime::lease::LeaseEnd;
    ///
    /// let lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// locks.lose_all();
    /// assert_eq!(lease.lost().await, LeaseEnd::Forgotten);
    /// # }
    /// ```
    pub fn lose_all(&self) {
        for node in self.nodes() {
            for key in node.keys() {
                node.delete(&key);
            }
        }
        self.nodes().for_each(MemoryNode::begin_epoch);
    }

    pub(super) fn pools(&self) -> impl Iterator<Item = &str> {
        let pools = self.inner.registry.shared.pools.by_name.keys();
        pools.map(String::as_str)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &MemoryNode> {
        let pools = self.inner.registry.shared.pools.by_name.values();
        pools.filter_map(|pool| pool.memory.as_ref())
    }

    pub(super) fn keys(&self, resource: &Resource) -> Resource {
        resource.with_prefix(&self.inner.key_prefix)
    }

    pub(super) fn delete(&self, resource: &Resource) {
        self.delete_keys(&self.keys(resource));
    }

    fn delete_keys(&self, keys: &Resource) {
        for node in self.nodes() {
            for key in keys.names() {
                node.delete(key);
            }
        }
    }

    /// Whether a node keeps `key` for the library itself.
    pub(super) fn is_auxiliary(&self, key: &[u8]) -> bool {
        let own = key.strip_prefix(&*self.inner.key_prefix);
        // A permit is a lock, whatever its key is called.
        own.and_then(|own| own.strip_prefix(RESERVED_PREFIX))
            .is_some_and(|own| !own.starts_with(b"permit:"))
    }
}

/// The same with nodes in the process in the place of servers.
pub(super) fn in_memory(mut config: Config) -> Config {
    // URLs and settings of pools are for variables that a test does not have.
    let pools = std::mem::take(&mut config.pools);
    let mut names: BTreeSet<String> = pools.into_keys().collect();
    if names.is_empty() {
        let defaults = || ["a", "b", "c"].map(str::to_owned).into();
        let defaults = config.default_pools.get_or_insert_with(defaults);
        names.extend(defaults.iter().cloned());
        for site in sites() {
            let of_site = site.pool_names().unwrap_or_default();
            names.extend(of_site.iter().map(|&name| name.to_owned()));
        }
    }
    for name in names {
        let url = format!("memory://{name}");
        config = config.pool(name, url);
    }
    // A test program has some of the service's functions. Settings of the others have no effect
    // here.
    let names: BTreeSet<_> = sites().iter().map(|site| site.site_name()).collect();
    config
        .sites
        .retain(|name, _| names.iter().any(|known| name.fits(known)));
    config
}
