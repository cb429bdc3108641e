//! Locks that another holder has.

use redlock_core::MemoryNode;
use redlock_core::node::Call;

/// A lock that another holder has. It ends at its drop, or at its ttl.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let locks = redlock_runtime::testing::TestLocks::new();
/// {
///     let _hold = locks.hold("order:42");
///     let refused = redlock_runtime::lock("order:42").retry_count(0).acquire().await;
///     assert!(refused.unwrap_err().is_contended());
/// }
/// locks.assert_free("order:42");
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a hold that is dropped is released at once"]
pub struct Hold {
    pub(super) release: Call,
    /// The nodes that granted the lock. Dropping the hold releases it there.
    pub(super) nodes: Vec<MemoryNode>,
}

impl Hold {
    /// Releases the lock, as dropping the hold does.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// locks.hold("order:42").release();
    /// locks.assert_free("order:42");
    /// # }
    /// ```
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.serve(&self.release);
        }
    }
}
