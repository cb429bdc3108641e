//! A server as a part of a Redis Cluster: the calls of its driver to the whole Cluster.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::node::Call;
use crate::node::{NodeError, NodeErrorKind, Reply};
use crate::redis::address::{Server, server_at};
use crate::redis::connection::vetting::Facts;
use crate::redis::options::Vetting;
use crate::redis::protocol::wire::Value;

use super::submission::{Owed, Route, Submission};

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

    /// Takes over releases that the driver of a server did not deliver.
    fn adopt(&self, owed: Vec<Owed>);

    /// Sends an operation to the server that `way` names, or answers the operation with `error`.
    fn follow(self: Arc<Self>, submission: Submission, way: &Way, error: NodeError);
}

/// A server as a part of its Cluster.
pub(in crate::redis) struct Part {
    /// Weak, because the Cluster holds the inbox that this part is in.
    cluster: Weak<dyn WholeCluster>,
    server: Server,
}

/// An operation that its server did not run, and the reason.
pub(in crate::redis) struct Redirected<'a> {
    part: &'a Part,
    way: Way,
    error: NodeError,
}

/// The right place for an operation, by the error of a server that did not run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::redis) enum Way {
    /// The slot belongs to another master.
    Moved(Server),
    /// The slot is moving to another master, which already has this key.
    Ask(Server),
    /// No server can run it at present.
    Nowhere,
}

impl Part {
    pub(in crate::redis) fn new(cluster: Weak<dyn WholeCluster>, server: Server) -> Self {
        Self { cluster, server }
    }

    /// `Some` if the answer says that the operation belongs elsewhere.
    pub(in crate::redis) fn reads(&self, value: &Value<'_>) -> Option<Redirected<'_>> {
        let Value::Error(text) = value else {
            return None;
        };
        Some(Redirected {
            part: self,
            way: way(text, &self.server)?,
            error: not_run(format!("{}: {}", self.server, NodeError::server(text))),
        })
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
    pub(super) fn adopt(&self, owed: Vec<Owed>) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.adopt(owed);
        }
    }
}

impl Redirected<'_> {
    /// Follows the redirection of an owed release.
    pub(in crate::redis) fn owed(self, owed: Owed) {
        let route = Route {
            owed_until: Some(owed.until),
            ..Route::default()
        };
        self.call(owed.call, Reply::to_nobody(), route);
    }

    /// Follows the redirection of a caller's operation.
    pub(in crate::redis) fn call(self, call: Arc<Call>, reply: Reply, route: Route) {
        // Without the Cluster, the node was dropped, and no caller waits.
        if let Some(cluster) = self.part.cluster.upgrade() {
            let submission = Submission::new(call, reply, route);
            cluster.follow(submission, &self.way, self.error);
        }
    }
}

/// Reads the right place for an operation from the error `text` of the server `from`.
fn way(text: &[u8], from: &Server) -> Option<Way> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = text.split(' ');
    let way: fn(Server) -> Way = match words.next()? {
        "MOVED" => Way::Moved,
        "ASK" => Way::Ask,
        "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "READONLY" => return Some(Way::Nowhere),
        _ => return None,
    };
    let to = words.nth(1).and_then(|to| to.rsplit_once(':'));
    let to = to.and_then(|(host, port)| server_at(host, port.parse().ok()?, from));
    Some(to.map_or(Way::Nowhere, way))
}

/// An error for an operation that was certainly not run.
fn not_run(detail: String) -> NodeError {
    NodeError::unsent(NodeErrorKind::Server, detail)
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Part").field(&self.server).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::address::{RedisAddress, Target};

    fn server(url: &str) -> Server {
        match RedisAddress::parse(url).unwrap().target {
            Target::Server(server) => server,
            _ => unreachable!("one server"),
        }
    }

    #[test]
    fn the_way_is_read_from_the_error() {
        let from = server("redis://u:pw@h1:7001");
        let other = |host: &str, port| server_at(host, port, &from).unwrap();
        for (text, expected) in [
            (
                "MOVED 3999 10.0.0.2:7002",
                Some(Way::Moved(other("10.0.0.2", 7002))),
            ),
            ("MOVED 3999 :7002", Some(Way::Moved(other("h1", 7002)))),
            (
                "ASK 1 2001:db8::1:7002",
                Some(Way::Ask(other("2001:db8::1", 7002))),
            ),
            ("MOVED 3999 ?:7002", Some(Way::Nowhere)),
            ("MOVED 3999 h:99999", Some(Way::Nowhere)),
            ("MOVED", Some(Way::Nowhere)),
            ("TRYAGAIN Multiple keys request", Some(Way::Nowhere)),
            ("CLUSTERDOWN The cluster is down", Some(Way::Nowhere)),
            ("ERR no such thing", None),
            ("MOVEDX 1 h:1", None),
            ("", None),
        ] {
            assert_eq!(way(text.as_bytes(), &from), expected, "{text}");
        }
        let Some(Way::Moved(to)) = way(b"MOVED 1 h2:7002", &from) else {
            panic!("it moved");
        };
        assert!(
            to == Server {
                endpoint: to.endpoint.clone(),
                ..from
            },
            "same login and TLS"
        );
    }
}
