//! Guarded nodes over real servers.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::node::{NodeError, NodeErrorKind};
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::restart_check::{CheckedSet, Marker, RestartCheck};
use redlock_core::{Node, NodeSet, RedisNode};
use redlock_tests::wait_until;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::core::fixture::{IO, calm, reason, until_voting};
pub(crate) use crate::core::fixture::{SOON, client, once};

/// Short enough to wait for a quarantine.
pub(crate) const MAX_TTL: Duration = Duration::from_secs(2);

/// How often a node is checked, where a test waits for a check.
pub(crate) const OFTEN: Duration = Duration::from_millis(50);

pub(crate) const MARKER: &str = "redlock:marker";

/// Nodes a, b, c … of one checked set.
pub(crate) struct Set {
    pub(crate) nodes: Vec<Arc<RedisNode>>,
}

impl Set {
    pub(crate) async fn standard(urls: impl IntoIterator<Item = String>) -> Self {
        Self::with(urls, RestartCheck::Standard, |options| options).await
    }

    /// As `standard`, and each node is checked often.
    pub(crate) async fn attentive(urls: impl IntoIterator<Item = String>) -> Self {
        Self::with(urls, RestartCheck::Standard, |options| {
            options.heartbeat(OFTEN)
        })
        .await
    }

    /// Returns once it is known of each node whether it votes.
    pub(crate) async fn with(
        urls: impl IntoIterator<Item = String>,
        restart_check: RestartCheck,
        change: impl FnOnce(RedisOptions) -> RedisOptions,
    ) -> Self {
        let urls: Vec<String> = urls.into_iter().collect();
        let options = calm().checked_set(Arc::new(CheckedSet::new(
            restart_check,
            MAX_TTL,
            urls.len(),
            b"",
        )));
        let options = change(options);
        let start = |(url, name): (&String, char)| {
            let address = RedisAddress::parse(url).expect("the harness makes good URLs");
            let (name, options) = (name.to_string(), options.clone());
            Arc::new(RedisNode::start(name, address, options, &IO))
        };
        let nodes: Vec<_> = urls.iter().zip('a'..).map(start).collect();
        for node in &nodes {
            node.wait_until_settled().await;
        }
        Self { nodes }
    }

    /// The same once all nodes vote.
    pub(crate) async fn voting(self) -> Self {
        for index in 0..self.nodes.len() {
            self.until_voting(index).await;
        }
        self
    }

    /// Hears why a node votes no, whenever a new epoch of it begins. By the time that a test looks at
    /// its status, the quarantine may be over.
    pub(crate) fn epochs(&self, index: usize) -> Epochs {
        let (told, reasons) = mpsc::unbounded_channel();
        let node = Arc::downgrade(&self.nodes[index]);
        self.nodes[index].on_new_epoch(Arc::new(move || {
            let reason = node.upgrade().and_then(|node| reason(&node));
            // The receiver may be gone.
            let _ = told.send(reason);
        }));
        Epochs(reasons)
    }

    pub(crate) fn node_set(&self) -> NodeSet {
        let nodes = self.nodes.iter();
        nodes
            .map(|node| Arc::clone(node) as Arc<dyn Node>)
            .collect()
    }

    /// Which nodes vote.
    pub(crate) fn votes(&self) -> Vec<bool> {
        let nodes = self.nodes.iter();
        nodes.map(|node| reason(node).is_none()).collect()
    }

    pub(crate) async fn until_voting(&self, index: usize) {
        until_voting(&self.nodes[index], true).await;
    }

    /// Waits until a node votes no for a reason of this kind, and says which.
    pub(crate) async fn until(&self, index: usize, kind: NodeErrorKind) -> String {
        let node = &self.nodes[index];
        let is_it = |it: &Option<NodeError>| it.as_ref().is_some_and(|it| it.kind() == kind);
        let reason = wait_until("the node to abstain", || reason(node), is_it).await;
        reason.expect("it is of this kind").to_string()
    }
}

/// See [`Set::epochs`].
pub(crate) struct Epochs(mpsc::UnboundedReceiver<Option<NodeError>>);

impl Epochs {
    /// Waits until the node may have forgotten locks; why it votes no then.
    pub(crate) async fn next(&mut self) -> String {
        let told = timeout(SOON, self.0.recv()).await.expect("a new epoch");
        let reason = told.flatten().expect("a node that votes no meanwhile");
        assert_eq!(reason.kind(), NodeErrorKind::Quarantined, "{reason}");
        reason.to_string()
    }
}

pub(crate) fn marker(node: &redlock_tests::RedisNode) -> Marker {
    let text = node.get(MARKER).expect("a marker");
    Marker::parse(&text).expect("the marker's format")
}

/// Waits until the marker on `node` is that of its present process, and no longer `before`.
pub(crate) async fn until_marked_anew(
    node: &redlock_tests::RedisNode,
    before: Option<&Marker>,
) -> Marker {
    let marker = || node.get(MARKER).as_deref().and_then(Marker::parse);
    let is_new = |marker: &Option<Marker>| {
        marker.as_ref() != before
            && marker.as_ref().map(|it| &it.run_id) == node.info("run_id").as_ref()
    };
    let marker = wait_until("a marker of this process", marker, is_new).await;
    marker.expect("it is new")
}
