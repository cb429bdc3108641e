//! This library's client in the test itself.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::error::{AcquireError, Contended};
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Client, IoThread, Lease, Node, NodeSet, RedisNode, Request, Settings};
use redlock_tests::Nodes;

/// The ttl of most locks here. No test waits for it to pass.
pub(crate) const TTL: Duration = Duration::from_secs(60);

/// Nothing here is about slow nodes.
const NODE_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Ours {
    pub(crate) client: Client,
    pub(crate) nodes: NodeSet,
    _io: IoThread,
}

/// The kinds of a lock with one holder, and the kind of a lock that readers share.
pub(crate) fn kinds() -> [Kind; 4] {
    [Kind::Plain, Kind::Permits(1), Kind::Read, Kind::Write]
}

impl Ours {
    pub(crate) async fn on(nodes: &Nodes, prefix: &str) -> Self {
        let io = IoThread::start().expect("a thread");
        let settings = Settings::default()
            .node_timeout(NODE_TIMEOUT)
            .key_prefix(prefix.as_bytes());
        let client = Client::with_settings(io.environment(), settings);
        let mut started = Vec::new();
        for (url, name) in nodes.urls().iter().zip('a'..) {
            let address = RedisAddress::parse(url).expect("a node's URL");
            let options = RedisOptions::default();
            let node = RedisNode::start(name.to_string(), address, options, &io);
            node.wait_until_settled().await;
            started.push(Arc::new(node) as Arc<dyn Node>);
        }
        Self {
            client,
            nodes: started.into_iter().collect(),
            _io: io,
        }
    }

    /// One attempt.
    pub(crate) async fn attempt(&self, key: &str, kind: Kind) -> Result<Lease, AcquireError> {
        let request = Request::new(key).ttl(TTL).retry_limit(0).kind(kind);
        self.client.acquire(&self.nodes, &request).await
    }

    pub(crate) async fn acquired(&self, key: &str, kind: Kind) -> Lease {
        let lease = self.attempt(key, kind).await;
        lease.unwrap_or_else(|error| panic!("`{key}`, {kind:?}: {error}"))
    }

    /// The refusal of an attempt because another client has the lock.
    pub(crate) async fn refused(&self, key: &str, kind: Kind) -> Contended {
        match self.attempt(key, kind).await {
            Err(AcquireError::Contended(contended)) => contended,
            Err(error) => panic!("`{key}`, {kind:?}: {error}"),
            Ok(_) => panic!("`{key}`, {kind:?}: acquired"),
        }
    }

    /// Waits for the lock.
    pub(crate) async fn waited(&self, key: &str, kind: Kind) -> Lease {
        let request = Request::new(key)
            .ttl(TTL)
            .kind(kind)
            .retry_limit(RetryLimit::Forever);
        let lease = self.client.acquire(&self.nodes, &request).await;
        lease.unwrap_or_else(|error| panic!("`{key}`, {kind:?}: {error}"))
    }
}
