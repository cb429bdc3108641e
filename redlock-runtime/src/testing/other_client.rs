//! Another client, which locks.

use std::time::Duration;

use redlock_core::node::{OwnerToken, Vote};
use redlock_core::request::Kind;
use redlock_core::testing::Calls;
use redlock_core::{MemoryNode, Request, Resource};

use super::TestLocks;
use super::hold::Hold;
use crate::parameters::Mode;

/// Another client, which locks and is not the code under test. Made by [`TestLocks::other_client`].
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

impl TestLocks {
    /// Makes another holder take `resource` on all nodes, for a minute or until the hold is
    /// dropped. A refused call is told that `other-client/1` holds the lock.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let hold = locks.hold("order:42");
    /// let refused = redlock_runtime::lock("order:42").retry_count(0).acquire().await;
    /// assert!(refused.unwrap_err().is_contended());
    /// # drop(hold);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`OtherClient::hold`].
    #[track_caller]
    pub fn hold(&self, resource: impl Into<Resource>) -> Hold {
        self.other_client().hold(resource)
    }

    /// Another client, whose name, ttl and pools can be set before it locks.
    ///
    /// # Example: one node that does not grant; the attempt wins by the other two
    /// ```
    /// # use redlock_runtime::testing::TestLocks;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let locks = TestLocks::new();
    /// let _hold = locks.other_client().named("billing-7/3121").on(["a"]).hold("order:42");
    /// let lease = redlock_runtime::lock("order:42").acquire().await.unwrap();
    /// # lease.release().await;
    /// # }
    /// ```
    pub fn other_client(&self) -> OtherClient {
        OtherClient {
            locks: self.clone(),
            name: "other-client/1".to_owned(),
            ttl: Duration::from_secs(60),
            kind: Kind::Exclusive,
            nodes: self.nodes().cloned().collect(),
        }
    }
}

impl OtherClient {
    /// The client's name, as errors show a holder (`host/pid`): `other-client/1` by default.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// let _hold = locks.other_client().named("billing-7/3121").hold("order:42");
    /// # }
    /// ```
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The time after which the nodes free the lock by themselves: a minute by default.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use std::time::Duration;
    /// let _hold = locks.other_client().ttl(Duration::from_secs(5)).hold("order:42");
    /// # }
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Reads or writes: by default, neither.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let locks = redlock_runtime::testing::TestLocks::new();
    /// use redlock_runtime::parameters::Mode;
    /// let _hold = locks.other_client().mode(Mode::Read).hold("report:7");
    /// let report = || redlock_runtime::lock("report:7").retry_count(0);
    /// assert!(report().acquire().await.unwrap_err().is_contended());
    /// report().mode(Mode::Read).acquire().await.unwrap().release().await;
    /// # }
    /// ```
    pub fn mode(mut self, mode: Mode) -> Self {
        self.kind = Kind::from(mode);
        self
    }

    /// Locks on the nodes of these pools only: on all by default.
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
    /// For an unknown pool.
    #[track_caller]
    pub fn on<N: Into<String>>(mut self, pools: impl IntoIterator<Item = N>) -> Self {
        self.nodes.clear();
        // No closure: the panic is to name the caller's line.
        for pool in pools {
            self.nodes.push(self.locks.node(&pool.into()).clone());
        }
        self
    }

    /// Takes the lock. A node that is cut off or fails does not grant it; a node that hangs does.
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
    /// If the lock is held, or no node grants it.
    #[track_caller]
    pub fn hold(&self, resource: impl Into<Resource>) -> Hold {
        let resource = resource.into();
        let request = Request::new(resource.clone()).kind(self.kind);
        let calls = Calls::of(&request, &self.locks.inner.key_prefix);
        let token = OwnerToken::draw(&self.name, &*self.locks.inner.entropy);
        let acquisition = calls.acquire(&token, self.ttl, 0);
        let mut hold = Hold {
            release: calls.release(&token, self.ttl, false),
            nodes: Vec::new(),
        };
        // The lock was granted by no node, or another holder has it: the drop undoes the grants.
        for node in &self.nodes {
            match acquisition.vote(node.serve(&acquisition)) {
                Vote::Granted { .. } => hold.nodes.push(node.clone()),
                Vote::Held(holding) => panic!(
                    "{} cannot hold `{}`: {} has it; {}",
                    self.name,
                    resource,
                    holding.owner().unwrap_or("somebody"),
                    self.locks.journal(),
                ),
                _ => {}
            }
        }
        assert!(
            !hold.nodes.is_empty(),
            "{} cannot hold `{}`: no node grants it",
            self.name,
            resource,
        );
        hold
    }

    /// Takes the lock from its holder without telling it, as it happens to a holder that is paused
    /// past its ttl. The holder notices when it extends or renews its lease.
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
    /// As [`hold`](Self::hold), but for a lock that is held.
    #[track_caller]
    pub fn steal(&self, resource: impl Into<Resource>) -> Hold {
        let resource = resource.into();
        self.locks.delete(&resource);
        self.hold(resource)
    }
}
