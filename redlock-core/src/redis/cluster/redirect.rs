//! Following a key's slot to where it is now.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::env::caught::log;
use crate::node::operation::SharedOperation;
use crate::node::{NodeError, Reply};
use crate::redis::connection::errors::not_connected;
use crate::redis::connection::vetting::{Facts, refused};
use crate::redis::options::Vetting;
use crate::redis::protocol::wire::Value;
use crate::redis::server::inbox::{Owed, Route, Submission};

use super::super::address::{Server, server_at};
use super::{Shared, may_follow, not_run};

/// So often an operation is sent on before it fails: servers that point at each other have to agree
/// first.
const MOST_HOPS: u8 = 5;

/// A server as a part of its Cluster: how its driver reaches the whole.
pub(in crate::redis) struct Part {
    /// The Cluster holds the driver's inbox, and not the other way round.
    cluster: Weak<Shared>,
    server: Server,
}

/// An operation that its server did not run, and why.
pub(in crate::redis) struct Redirected<'a> {
    part: &'a Part,
    way: Way,
    error: NodeError,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// The slot is another master's.
    Moved(Server),
    /// The slot is just being given to another master, which has this key already.
    Ask(Server),
    /// Nobody can serve it right now.
    Nowhere,
}

impl Part {
    pub(super) fn new(cluster: &Arc<Shared>, server: Server) -> Self {
        Self {
            cluster: Arc::downgrade(cluster),
            server,
        }
    }

    /// Whether an answer says that the operation belongs elsewhere.
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

    /// The map may be out of date.
    pub(in crate::redis) fn in_trouble(&self) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.news.notify_one();
        }
    }

    /// Whether a lock may rely on the server at the other end of a new connection.
    pub(in crate::redis) fn vet(&self, facts: &Facts, vetting: Vetting) -> Result<(), NodeError> {
        let Some(cluster) = self.cluster.upgrade() else {
            return Ok(());
        };
        if facts.is_replica() {
            let detail = "it is a replica by now, and its master is being looked for";
            return Err(not_connected(detail));
        }
        let server = &self.server;
        for warning in facts.judge_part(&cluster.name).under(vetting)? {
            log!(warn, pool = %cluster.name, %server, "{warning}");
        }
        Ok(())
    }

    /// Takes over releases that the driver did not get rid of.
    pub(in crate::redis) fn adopt(&self, owed: Vec<Owed>) {
        if let Some(cluster) = self.cluster.upgrade() {
            cluster.deliver_all_owed(owed);
        }
    }
}

impl Redirected<'_> {
    /// A release from before the connection.
    pub(in crate::redis) fn owed(self, owed: Owed) {
        let route = Route {
            owed_until: Some(owed.until),
            ..Route::default()
        };
        self.operation(owed.operation, Reply::to_nobody(), route);
    }

    /// An operation that somebody waits for.
    pub(in crate::redis) fn operation(
        self,
        operation: SharedOperation,
        reply: Reply,
        route: Route,
    ) {
        let Some(cluster) = self.part.cluster.upgrade() else {
            // The node was dropped, and nobody waits any more.
            return;
        };
        if !matches!(self.way, Way::Ask(_)) {
            // On the way to another master a slot is still the old one's: then the map is right.
            cluster.news.notify_one();
        }
        let mut submission = Submission::new(operation, reply, route);
        let target = match &self.way {
            _ if route.hops >= MOST_HOPS => None,
            _ if !may_follow(&submission.operation, &submission.reply) => None,
            Way::Moved(server) | Way::Ask(server) => cluster.shard_at(server),
            Way::Nowhere => None,
        };
        let Some(shard) = target else {
            return cluster.fail(submission, self.error);
        };
        submission.route.hops += 1;
        submission.route.is_asking = matches!(self.way, Way::Ask(_));
        if let Err(back) = shard.link.inbox.deliver(submission) {
            // It was replaced in this very moment.
            cluster.fail(back, self.error);
        }
    }
}

/// What the error `text` of the server `from` says about where an operation belongs.
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

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Part").field(&self.server).finish()
    }
}

/// A server that is no part of a Cluster.
pub(super) fn not_clustered(server: &Server) -> NodeError {
    refused(format!(
        "{server} is no part of a Redis Cluster; write redis:// in the pool's URL",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::address::{Place, RedisAddress};

    fn server(url: &str) -> Server {
        match RedisAddress::parse(url).unwrap().place {
            Place::Server(server) => server,
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
