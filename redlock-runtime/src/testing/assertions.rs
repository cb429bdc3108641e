//! The assertions of a test. Every panic says what was found instead.

use std::collections::BTreeSet;
use std::fmt;

use redlock_core::node::Holding;
use redlock_core::testing::every_key;
use redlock_core::{MemoryNode, Resource};

use super::TestLocks;
use super::acquisition::Acquisition;

impl TestLocks {
    /// The code under test locked `resource`, once at least, by itself or among others.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// locks.assert_locked("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// If no call locked it.
    #[track_caller]
    pub fn assert_locked(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = self.any(&resource, Acquisition::was_locked);
        self.expect(is_so, format_args!("`{resource}` was not locked"));
    }

    /// The code under test never got a lock on `resource`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.assert_not_locked("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// If a call locked it.
    #[track_caller]
    pub fn assert_not_locked(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = !self.any(&resource, Acquisition::was_locked);
        self.expect(is_so, format_args!("`{resource}` was locked"));
    }

    /// The code under test holds `resource` now.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let _lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// locks.assert_held("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// If no call holds it.
    #[track_caller]
    pub fn assert_held(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let is_so = self.any(&resource, Acquisition::is_held);
        self.expect(is_so, format_args!("`{resource}` is not held"));
    }

    /// No node has a key of `resource`, of any holder: the next caller gets the lock.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// locks.assert_free("order:42");
    /// # }
    /// ```
    ///
    /// # Panics
    /// If a node has a key of it.
    #[track_caller]
    pub fn assert_free(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let mut keys = self.keys(&resource);
        if keys.names().len() == 1 {
            keys = every_key(&keys, &self.inner.key_prefix);
        }
        let left = self.left(|key| keys.names().any(|name| name == key));
        let message = format_args!("`{resource}` is not free: {left}");
        self.expect(left.is_empty(), message);
    }

    /// No node has a key of any lock. Use it at the end of a test, to see that nothing leaked. A
    /// node that hangs has the keys that it had when it began to hang.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// redlock_runtime::lock("order:42").run(async {}).await.unwrap();
    /// locks.assert_all_free();
    /// # }
    /// ```
    ///
    /// # Panics
    /// If a node has a key of a lock.
    #[track_caller]
    pub fn assert_all_free(&self) {
        let left = self.left(|_| true);
        self.expect(left.is_empty(), format_args!("not all is free: {left}"));
    }

    fn any(&self, resource: &Resource, is_so: impl Fn(&Acquisition) -> bool) -> bool {
        self.acquisitions_of(resource.clone()).iter().any(is_so)
    }

    /// Panics, with what calls did, if it is not so.
    #[track_caller]
    pub(super) fn expect(&self, is_so: bool, otherwise: impl fmt::Display) {
        assert!(is_so, "{otherwise}; {}", self.journal());
    }

    /// The acquisitions of all calls, one a line, for the text of a panic.
    pub(super) fn journal(&self) -> String {
        let acquisitions = self.acquisitions();
        if acquisitions.is_empty() {
            return "no call asked for any lock".to_owned();
        }
        let lines = acquisitions.iter().map(|it| format!("\n  {it}"));
        format!("what calls did:{}", lines.collect::<String>())
    }

    /// The locks among the keys of the nodes: name, node and holder.
    fn left(&self, is_wanted: impl Fn(&[u8]) -> bool) -> String {
        let keys: BTreeSet<Vec<u8>> = self.nodes().flat_map(MemoryNode::keys).collect();
        let keys = keys.iter();
        let locks = keys.filter(|key| !self.is_auxiliary(key) && is_wanted(key));
        let shown = locks.map(|key| {
            let of = |pool: &str| Some((pool.to_owned(), self.node(pool).get(key)?));
            let (pools, values): (Vec<_>, Vec<_>) = self.pools().filter_map(of).unzip();
            let holding = values.into_iter().next().map(Holding::by);
            let owner = holding.as_ref().and_then(Holding::owner);
            format!(
                "{} has `{}` on {}",
                owner.unwrap_or("somebody"),
                Resource::all([key]),
                pools.join(", "),
            )
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}
