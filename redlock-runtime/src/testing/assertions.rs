//! The assertions of a test. Every panic says what was found instead.

use std::fmt;

use redlock_core::node::Holding;
use redlock_core::testing::{every_key, run_keys};
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
        assert!(
            self.of(&resource).any(|it| it.was_locked()),
            "`{resource}` was not locked; {}",
            self.journal(),
        );
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
        assert!(
            !self.of(&resource).any(|it| it.was_locked()),
            "`{resource}` was locked; {}",
            self.journal(),
        );
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
        assert!(
            self.of(&resource).any(|it| it.is_held()),
            "`{resource}` is not held; {}",
            self.journal(),
        );
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
        let keys = self.keys(&resource);
        let keys = if keys.names().len() == 1 {
            every_key(&keys, &self.inner.key_prefix)
        } else {
            keys
        };
        let left = self.left(|key| keys.names().any(|name| name == key));
        assert!(
            left.is_empty(),
            "`{resource}` is not free: {}; {}",
            left.join(", "),
            self.journal(),
        );
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
        assert!(
            left.is_empty(),
            "not all is free: {}; {}",
            left.join(", "),
            self.journal(),
        );
    }

    /// A node remembers a run of `resource`: a job with
    /// [`once_per`](crate::parameters::LockOptions::once_per) ended well, and its period is not over.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let hourly = redlock_runtime::lock("report").once_per(std::time::Duration::from_secs(3600));
    /// hourly.run(async {}).await.unwrap();
    /// locks.assert_remembered("report");
    /// # }
    /// ```
    ///
    /// # Panics
    /// Where none does.
    #[track_caller]
    pub fn assert_remembered(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        assert!(
            self.is_remembered(&resource),
            "no node remembers a run of `{resource}`; {}",
            self.journal(),
        );
    }

    /// No node remembers a run of `resource`: the next call runs.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let hourly = redlock_runtime::lock("report").once_per(std::time::Duration::from_secs(3600));
    /// drop(hourly.acquire().await.unwrap()); // Not released: the work was not done.
    /// locks.assert_not_remembered("report");
    /// # }
    /// ```
    ///
    /// # Panics
    /// Where one does.
    #[track_caller]
    pub fn assert_not_remembered(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        assert!(
            !self.is_remembered(&resource),
            "a run of `{resource}` is remembered; {}",
            self.journal(),
        );
    }

    fn is_remembered(&self, resource: &Resource) -> bool {
        let keys = run_keys(&self.keys(resource), &self.inner.key_prefix);
        let remembers = |node: &MemoryNode| keys.names().all(|key| node.get(key).is_some());
        self.nodes().any(remembers)
    }

    /// The acquisitions of all calls, for the text of a panic.
    pub(super) fn journal(&self) -> impl fmt::Display {
        Shown(self.acquisitions())
    }

    fn of(&self, resource: &Resource) -> impl Iterator<Item = Acquisition> {
        self.acquisitions_of(resource.clone()).into_iter()
    }

    /// The locks among the keys of the nodes: name, node and holder.
    fn left(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<String> {
        let mut keys: Vec<Vec<u8>> = self.nodes().flat_map(MemoryNode::keys).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| !self.is_auxiliary(key) && is_wanted(key));
        let shown = keys.iter().map(|key| {
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
        shown.collect()
    }
}

/// Shows one acquisition a line.
struct Shown(Vec<Acquisition>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no call asked for any lock");
        }
        f.write_str("what calls did:")?;
        let mut lines = self.0.iter();
        lines.try_for_each(|acquisition| write!(f, "\n  {acquisition}"))
    }
}
