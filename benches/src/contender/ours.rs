//! `redlock-core`, through its public interface.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redlock_core::lease::Released;
use redlock_core::node::NodeStatus;
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::request::{Kind as LockKind, RetryLimit};
use redlock_core::{Client, IoThread, Lease, Node, NodeSet, RedisNode, Request};

use super::{TTL, Unlocked, held};

/// A client with its nodes, which live on the runtime of [`connect`](Self::connect).
#[derive(Clone)]
pub struct Ours {
    client: Client,
    nodes: NodeSet,
    is_fenced: bool,
}

impl Ours {
    /// Connects to the servers at `urls`; a server that does not answer is given up, for now,
    /// after `connect_timeout`.
    pub async fn connect(urls: &[String], connect_timeout: Duration) -> Self {
        let io = IoThread::start().expect("an I/O thread");
        let options = RedisOptions::default().connect_timeout(connect_timeout);
        let mut nodes: Vec<Arc<dyn Node>> = Vec::new();
        let mut starting = Vec::new();
        for (seat, url) in urls.iter().enumerate() {
            let address = RedisAddress::parse(url).expect("a URL of the harness");
            let name = format!("node-{seat}");
            let node = Arc::new(RedisNode::start(name, address, options.clone(), &io));
            starting.push(Arc::clone(&node));
            nodes.push(node);
        }
        for node in starting {
            node.wait_until_settled().await;
        }
        Self {
            client: Client::new(io.environment()),
            nodes: nodes.into(),
            is_fenced: false,
        }
    }

    /// Returns a client whose pairs and waits have fencing tokens.
    pub(super) fn fenced(self) -> Self {
        Self {
            is_fenced: true,
            ..self
        }
    }

    /// Locks `key` and releases it, with the defaults but for the ttl.
    pub(super) async fn pair(&self, key: &str) -> Result<Unlocked, String> {
        let request = Request::new(key).ttl(TTL).fencing(self.is_fenced);
        self.pair_of(&request).await
    }

    /// Acquires the lock and releases it.
    pub(crate) async fn pair_of(&self, request: &Request) -> Result<Unlocked, String> {
        let lease = self.try_to_acquire(request).await?;
        release(lease).await
    }

    /// Waits for a lock of this kind on `key`, with the defaults but for ttl and patience.
    pub(crate) async fn wait_for(
        &self,
        key: &str,
        kind: LockKind,
        patience: Duration,
    ) -> Result<Lease, String> {
        let request = Request::new(key)
            .kind(kind)
            .ttl(held::TTL)
            .fencing(self.is_fenced)
            .retry_limit(RetryLimit::Wait(patience));
        self.try_to_acquire(&request).await
    }

    /// Returns a lease on these nodes.
    pub(crate) async fn acquire(&self, request: &Request) -> Lease {
        let lease = self.try_to_acquire(request).await;
        lease.expect("nobody else has it")
    }

    /// Acquires the lock.
    ///
    /// # Errors
    /// A text that says why the lock was not acquired.
    pub async fn try_to_acquire(&self, request: &Request) -> Result<Lease, String> {
        let lease = self.client.acquire(&self.nodes, request).await;
        lease.map_err(|error| format!("not acquired: {error}"))
    }

    /// Waits until `wanted` nodes vote.
    pub async fn voting(&self, wanted: usize) {
        let began = Instant::now();
        loop {
            let voting = self.nodes.iter().filter(|node| votes(&***node)).count();
            if voting == wanted {
                return;
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{voting} nodes vote, {wanted} should"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(crate) async fn release(lease: Lease) -> Result<Unlocked, String> {
    match lease.release().await {
        // The next one in line has it, or other readers share it still.
        Released::Confirmed | Released::HandedOver | Released::NotLast => Ok(Unlocked::Confirmed),
        Released::Unconfirmed => Ok(Unlocked::Unconfirmed),
        other => Err(format!("released, but {other:?}")),
    }
}

fn votes(node: &dyn Node) -> bool {
    matches!(node.status(), NodeStatus::Voting)
}

impl std::fmt::Debug for Ours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ours")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
