//! Other clients, which hold locks against the code under test.

use std::time::Duration;

use redlock_core::node::{Call, OwnerToken, Vote};
use redlock_core::request::Kind;
use redlock_core::testing::Calls;
use redlock_core::{MemoryNode, Request, Resource};

use super::TestLocks;

/// A client that locks like another process. Made by [`TestLocks::other_client`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let locks = redlock_runtime::testing::TestLocks::new();
/// let _hold = locks.other_client().named("billing-7/3121").hold("order:42");
/// let error = redlock_runtime::lock("order:42").retry_count(0).acquire().await.unwrap_err();
/// assert!(error.to_string().contains("billing-7/3121"));
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is held before `hold` or `steal`"]
pub struct OtherClient {
    locks: TestLocks,
    name: String,
    ttl: Duration,
    kind: Kind,
    nodes: Vec<MemoryNode>,
}

impl OtherClient {
    pub(super) fn new(locks: TestLocks) -> Self {
        Self {
            name: "other-client/1".to_owned(),
            ttl: Duration::from_secs(60),
            kind: Kind::Plain,
            nodes: locks.shared.nodes.iter().cloned().collect(),
            locks,
        }
    }

    /// Sets the client's name, `host/pid`, which errors show as the holder. Default: `other-client/1`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the ttl, after which the nodes free the lock. Default: a minute.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the kind of lock. Default: the plain lock, which takes the first permit of a resource with permits.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use redlock_runtime::parameters::Kind;
    /// let _hold = locks.other_client().kind(Kind::Read).hold("report:7");
    /// let report = || redlock_runtime::lock("report:7").retry_count(0);
    /// assert!(report().acquire().await.unwrap_err().is_contended());
    /// report().kind(Kind::Read).acquire().await.unwrap().release().await;
    ///
    /// // Both permits of a resource with two.
    /// let _holds = [(); 2].map(|()| locks.other_client().kind(Kind::Permits(2)).hold("upstream"));
    /// assert!(redlock_runtime::lock("upstream").permits(2).retry_count(0).acquire().await.is_err());
    /// # }
    /// ```
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Restricts the client to the nodes of these pools. By default, it locks on all nodes.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let _hold = locks.other_client().on(["a"]).hold("order:42");
    /// assert!(locks.node("b").keys().is_empty());
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if a pool is unknown.
    #[track_caller]
    pub fn on<N: Into<String>>(mut self, pools: impl IntoIterator<Item = N>) -> Self {
        self.nodes.clear();
        // A loop instead of a closure, so that the panic names the caller's line.
        for pool in pools {
            self.nodes.push(self.locks.node(&pool.into()).clone());
        }
        self
    }

    /// Takes the lock. Hanging nodes grant it, unlike nodes that are cut off or fail.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let _hold = locks.other_client().hold("order:42");
    /// assert!(locks.node("a").get(b"order:42").is_some());
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if the lock is held, or if no node grants it.
    #[track_caller]
    pub fn hold(&self, resource: impl Into<Resource>) -> OtherLease {
        let resource = resource.into();
        let request = Request::new(resource.clone()).kind(self.kind);
        let calls = Calls::of(&request, &self.locks.shared.nodes.key_prefix);
        let token = OwnerToken::draw(&self.name, &*self.locks.shared.entropy);
        let acquisition = calls.acquire(&token, self.ttl, 0);
        let mut lease = OtherLease {
            release: calls.release(&token, self.ttl, false),
            nodes: Vec::new(),
        };
        // If a node refuses, the panic drops the lease, which releases the earlier grants.
        for node in &self.nodes {
            match acquisition.vote(node.serve(&acquisition)) {
                Vote::Granted { .. } => lease.nodes.push(node.clone()),
                Vote::Held(holding) => panic!(
                    "{} cannot hold `{}`: {} has it (for a permit, set `kind(Kind::Permits(n))`); {}",
                    self.name,
                    resource,
                    holding.owner().unwrap_or("somebody"),
                    self.locks.show_acquisitions(),
                ),
                _ => {}
            }
        }
        assert!(
            !lease.nodes.is_empty(),
            "{} cannot hold `{}`: no node grants it",
            self.name,
            resource,
        );
        lease
    }

    /// Takes the lock from its holder, who notices only when it extends or renews its lease.
    ///
    /// A real holder loses its lock like this when it is paused past its ttl.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use std::time::Duration;
    ///
    /// let lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// let _hold = locks.other_client().steal("order:42");
    /// assert!(lease.extend(Duration::from_secs(60)).await.unwrap_err().is_lost());
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if no node grants the lock.
    #[track_caller]
    pub fn steal(&self, resource: impl Into<Resource>) -> OtherLease {
        let resource = resource.into();
        let nodes = &self.locks.shared.nodes;
        nodes.delete(&nodes.keys_of(&resource));
        self.hold(resource)
    }
}

/// The lease of another client, which ends with its drop or after its ttl.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let locks = redlock_runtime::testing::TestLocks::new();
/// let hold = locks.hold("order:42");
/// let refused = redlock_runtime::lock("order:42").retry_count(0).acquire().await;
/// assert!(refused.unwrap_err().is_contended());
/// hold.release();
/// locks.assert_free("order:42");
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a lease that is dropped is released at once"]
pub struct OtherLease {
    release: Call,
    /// The nodes that granted the lock, on which the drop releases it.
    nodes: Vec<MemoryNode>,
}

impl OtherLease {
    /// Releases the lock, as the drop of the lease does.
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for OtherLease {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.serve(&self.release);
        }
    }
}
