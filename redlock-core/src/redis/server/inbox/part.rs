//! A server as a part of a Redis Cluster: the calls of its driver to the whole Cluster.

use std::fmt;
use std::sync::Weak;

use crate::node::{NodeError, NodeErrorKind};
use crate::redis::address::Server;
use crate::redis::connection::vetting::Facts;
use crate::redis::options::Vetting;
use crate::redis::protocol::wire::Value;

use super::Inbox;

/// The Cluster, as used by the driver of one of its servers. Every call returns at once.
pub(in crate::redis) trait WholeCluster: Send + Sync {
    /// The map of slots may be out of date.
    fn alarm(&self);

    /// Checks whether a lock may rely on `server`, to which a driver has just connected.
    fn vet(
        &self,
        server: &Server,
        facts: &Facts,
        vetting: Vetting,
    ) -> Result<Vec<String>, NodeError>;

    /// Takes over the releases that the driver of a server did not deliver.
    fn adopt(&self, from: &Inbox);
}

/// A server as a part of its Cluster.
pub(in crate::redis) struct Part {
    /// Weak, because the Cluster holds the inbox that this part is in.
    cluster: Weak<dyn WholeCluster>,
    server: Server,
}

impl Part {
    pub(in crate::redis) fn new(cluster: Weak<dyn WholeCluster>, server: Server) -> Self {
        Self { cluster, server }
    }

    /// The error for a call that the server did not run, because it does not serve the keys' slot at present.
    /// `None` if `value` is another answer. Has the map learned anew if another master may have the slot.
    pub(in crate::redis) fn not_run(&self, value: &Value<'_>) -> Option<NodeError> {
        let Value::Error(text) = value else {
            return None;
        };
        match text.split(|byte| *byte == b' ').next()? {
            // The map is right for as long as the slot is on its way.
            b"ASK" | b"TRYAGAIN" => {}
            b"MOVED" | b"CLUSTERDOWN" | b"MASTERDOWN" | b"READONLY" => self.alarm(),
            _ => return None,
        }
        let detail = format!("{}: {}", self.server, NodeError::server(text));
        Some(NodeError::unsent(NodeErrorKind::Server, detail))
    }

    /// See [`WholeCluster::alarm`].
    pub(super) fn alarm(&self) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.alarm();
        }
    }

    /// See [`WholeCluster::vet`].
    pub(in crate::redis) fn vet(
        &self,
        facts: &Facts,
        vetting: Vetting,
    ) -> Result<Vec<String>, NodeError> {
        match self.cluster.upgrade() {
            Some(cluster) => cluster.vet(&self.server, facts, vetting),
            None => Ok(Vec::new()),
        }
    }

    /// See [`WholeCluster::adopt`].
    pub(super) fn adopt(&self, from: &Inbox) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.adopt(from);
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Part").field(&self.server).finish()
    }
}
