//! A server's view of its Cluster: `CLUSTER INFO` and `CLUSTER SLOTS`.

use ::redis::pipe;

use crate::node::hash_slot::SLOTS;
use crate::node::{NodeError, Value};
use crate::redis::address::Server;
use crate::redis::connection::connect;
use crate::redis::connection::questions::pairs;
use crate::redis::errors::{not_connected, rejected};
use crate::redis::vetting::refused;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    /// Increases with each failover. Of two servers that disagree, the one with the higher epoch is right.
    pub(super) epoch: u64,
    pub(super) ranges: Vec<Range>,
}

/// Neighbouring slots, both ends included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Server,
    /// The Cluster's own name of the master.
    pub(super) id: Option<String>,
}

/// Asks `server` for its view, on a connection of its own.
///
/// Dropping the future closes the socket.
pub(super) async fn ask(server: &Server) -> Result<View, NodeError> {
    let mut questions = pipe();
    questions.cmd("CLUSTER").arg("INFO");
    questions.cmd("CLUSTER").arg("SLOTS");
    View::read(&connect::ask(server, &questions).await?, server)
}

impl View {
    pub(super) fn read(answers: &[Value], asked: &Server) -> Result<Self, NodeError> {
        let [info, slots] = answers else {
            return Err(not_connected("it left a question without an answer"));
        };
        if let Value::Error(text) = slots {
            let error = NodeError::server(text).to_string();
            if error.contains("cluster support disabled") {
                let detail = "it is no part of a Redis Cluster; write redis:// in the pool's URL";
                return Err(refused(detail.to_owned()));
            }
            return Err(rejected(&error));
        }
        let ranges = ranges(slots, asked);
        if ranges.is_empty() {
            return Err(not_connected(
                "it has joined no Cluster, or one without slots",
            ));
        }
        let epoch = epoch(info);
        Ok(Self { epoch, ranges })
    }
}

/// Zero if the ACL hides it: the first server is believed then.
pub(super) fn epoch(info: &Value) -> u64 {
    let mut lines = text(info).unwrap_or_default().lines();
    let epoch = lines.find_map(|line| line.strip_prefix("cluster_current_epoch:"));
    epoch.and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// Reads the answer of the server `asked` to `CLUSTER SLOTS`. A master without a reachable address does not hide the
/// others.
pub(super) fn ranges(slots: &Value, asked: &Server) -> Vec<Range> {
    let Value::List(entries) = slots else {
        return Vec::new();
    };
    let ranges = entries.iter().map(|entry| range(entry, asked));
    ranges.flatten().collect()
}

/// `[first, last, [host, port, id, [name, value, …]], …]`. Login and TLS are those of the server that was asked.
fn range(entry: &Value, asked: &Server) -> Option<Range> {
    let Value::List(entry) = entry else {
        return None;
    };
    let [Value::Int(first), Value::Int(last), Value::List(master), ..] = &entry[..] else {
        return None;
    };
    let [host, Value::Int(port), more @ ..] = &master[..] else {
        return None;
    };
    let host = match host {
        Value::Nil => "",
        host => text(host)?,
    };
    let host = match host {
        "" => asked.host()?,
        // The server that was asked does not know the host name that clients should use.
        "?" => {
            let mut pairs = pairs(more.get(1)?);
            let (_, ip) = pairs.find(|(name, _)| *name == b"ip")?;
            std::str::from_utf8(ip).ok()?
        }
        host => host,
    };
    let slot = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < SLOTS);
    let (first, last) = (slot(*first)?, slot(*last)?);
    (first <= last).then_some(Range {
        first,
        last,
        master: asked.at(host, u16::try_from(*port).ok()?)?,
        id: more.first().and_then(text).map(str::to_owned),
    })
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => std::str::from_utf8(text).ok(),
        _ => None,
    }
}
