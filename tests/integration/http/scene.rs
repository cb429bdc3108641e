//! Calls that fail in every way there is.

use std::sync::Arc;
use std::time::Duration;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::registry::{MemoryNode, Registry};
use redlock_runtime::{Config, LockError, Redlock, lock, redlock};
use redlock_tests::RedisNode;

use crate::http::SOON;

macro_rules! whats {
    ($($what:ident,)*) => {
        /// What happens to the lock of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum What {
            $($what,)*
        }

        pub(crate) const ALL: &[What] = &[$(What::$what,)*];
    };
}

whats! {
    HeldForLong,
    HeldForEver,
    AlreadyRun,
    NoNodes,
    ShuttingDown,
    Lost,
    CutOffByShutdown,
    NotInitialized,
    UnknownPool,
    TooLongTtl,
    BadName,
    UnservedByTheHolderAbove,
}

/// The owner token of another process.
const HOLDER: &str = "internal-host/4711/00112233445566778899aabbccddeeff";

/// The state behind each error: locks that another client holds on a real server, nodes that are gone,
/// and a process that shuts down.
pub(crate) struct Scene {
    /// It has the locks for as long as this lives.
    _node: RedisNode,
    redlock: Redlock,
    without_nodes: Redlock,
    forgetful: Redlock,
    shut_down: Registry,
}

#[redlock(resource = "{name}", retry_count = 0)]
async fn annotated(name: &str) -> Result<&'static str, LockError> {
    Ok("done")
}

/// Its body ends with its lease only, which the node forgets.
#[redlock(resource = "lost")]
async fn is_lost(node: &MemoryNode) -> Result<&'static str, LockError> {
    node.begin_epoch();
    std::future::pending().await
}

#[redlock(resource = "fenced", fencing = true)]
async fn wants_a_token() -> Result<&'static str, LockError> {
    Ok("done")
}

#[redlock(resource = "fenced")]
async fn has_no_token() -> Result<&'static str, LockError> {
    wants_a_token().await
}

impl Scene {
    pub(crate) async fn start(status: Option<u16>) -> Arc<Self> {
        let node = RedisNode::start().await;
        let config = || {
            let config = Config::new()
                .defaults(LockOptions::new().retry_count(0))
                .node_timeout(SOON)
                .connect_timeout(SOON);
            match status {
                Some(status) => config.contended_status(status),
                None => config,
            }
        };
        let redlock = Redlock::start(config().pool("internal-pool", node.url())).await;
        let without_nodes = Redlock::start(config().pool("internal-pool", "memory://gone")).await;
        let without_nodes = without_nodes.unwrap();
        without_nodes
            .registry()
            .memory_node("internal-pool")
            .unwrap()
            .cut();
        let forgetful = Redlock::start(config().pool("internal-pool", "memory://lost")).await;
        let shut_down = Redlock::start(config().pool("internal-pool", "memory://down")).await;
        let shut_down = shut_down.unwrap();
        let its_registry = shut_down.registry().clone();
        shut_down.shutdown().await;
        node.set("long", HOLDER, Some(Duration::from_secs(3600)));
        node.set("ever", HOLDER, None);
        Arc::new(Self {
            _node: node,
            redlock: redlock.unwrap(),
            without_nodes,
            forgetful: forgetful.unwrap(),
            shut_down: its_registry,
        })
    }

    pub(crate) fn registry(&self) -> Registry {
        self.redlock.registry().clone()
    }

    pub(crate) async fn play(&self, what: What) -> Result<&'static str, LockError> {
        let registry = self.registry();
        match what {
            What::HeldForLong => registry.scope(annotated("long")).await,
            What::HeldForEver => registry.scope(annotated("ever")).await,
            What::AlreadyRun => {
                let hourly = || lock("job").once_per(Duration::from_secs(3600));
                let job = || hourly().run(async { "done" });
                // The other framework may have run it.
                let _ = registry.clone().scope(job()).await;
                registry.scope(job()).await
            }
            What::NoNodes => {
                let registry = self.without_nodes.registry().clone();
                registry.scope(annotated("free")).await
            }
            What::ShuttingDown => self.shut_down.clone().scope(annotated("free")).await,
            What::Lost => {
                let registry = self.forgetful.registry().clone();
                let node = registry.memory_node("internal-pool").unwrap().clone();
                registry.scope(is_lost(&node)).await
            }
            What::CutOffByShutdown => cut_off_by_shutdown().await,
            What::NotInitialized => annotated("free").await,
            What::UnknownPool => {
                let call = lock("free").pools(["another-internal-pool"]).acquire();
                registry.scope(call).await.map(|_| "done")
            }
            What::TooLongTtl => {
                let call = lock("free").ttl(Duration::from_secs(3600)).acquire();
                registry.scope(call).await.map(|_| "done")
            }
            What::BadName => registry.scope(annotated("redlock:internal")).await,
            What::UnservedByTheHolderAbove => registry.scope(has_no_token()).await,
        }
    }
}

/// A process of its own that ends under its body.
async fn cut_off_by_shutdown() -> Result<&'static str, LockError> {
    let config = Config::new()
        .pool("internal-pool", "memory://ending")
        .shutdown_grace(Duration::ZERO);
    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry().clone();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let body = async move {
        begun.send(()).unwrap();
        std::future::pending().await
    };
    let call = registry.scope(lock("free").run(body));
    let shutdown = async {
        has_begun.await.unwrap();
        redlock.shutdown().await;
    };
    tokio::join!(call, shutdown).0
}
