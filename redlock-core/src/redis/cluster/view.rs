//! A server's view of its Cluster: `CLUSTER INFO` and `CLUSTER SLOTS`.

use ::redis::pipe;

use crate::node::hash_slot::SLOTS;
use crate::node::{NodeError, Value};
use crate::redis::address::Server;
use crate::redis::connection::connect;
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
    let answers = connect::ask(server, &questions).await;
    let view = answers.and_then(|answers| View::read(&answers, server));
    view.map_err(|error| NodeError::unsent(error.kind(), format!("{server}: {error}")))
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
        match ranges {
            Some(ranges) if !ranges.is_empty() => Ok(Self {
                epoch: epoch(info),
                ranges,
            }),
            Some(_) => Err(not_connected(
                "it has joined no Cluster, or one without slots",
            )),
            None => Err(not_connected("its answer to CLUSTER SLOTS is not valid")),
        }
    }
}

/// Zero if the ACL hides it: the first server is believed then.
pub(super) fn epoch(info: &Value) -> u64 {
    let Value::Text(info) = info else {
        return 0;
    };
    let info = String::from_utf8_lossy(info);
    let mut lines = info.lines();
    let epoch = lines.find_map(|line| line.strip_prefix("cluster_current_epoch:"));
    epoch.and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}

/// Reads the answer of the server `asked` to `CLUSTER SLOTS`; `None` if it is not valid.
pub(super) fn ranges(slots: &Value, asked: &Server) -> Option<Vec<Range>> {
    let Value::List(entries) = slots else {
        return None;
    };
    let mut ranges = Vec::new();
    for entry in entries {
        let Value::List(entry) = entry else {
            return None;
        };
        let [Value::Int(first), Value::Int(last), Value::List(master), ..] = &entry[..] else {
            return None;
        };
        let slot = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < SLOTS);
        let (first, last) = (slot(*first)?, slot(*last)?);
        if first > last {
            return None;
        }
        let id = match master.get(2) {
            Some(Value::Text(id)) => Some(String::from_utf8_lossy(id).into_owned()),
            _ => None,
        };
        // A master without a reachable address does not hide the others.
        ranges.extend(server(master, asked).map(|master| Range {
            first,
            last,
            master,
            id,
        }));
    }
    Some(ranges)
}

/// `[host, port, id, [name, value, …]]`. Login and TLS are those of the server that was asked.
fn server(words: &[Value], asked: &Server) -> Option<Server> {
    let (host, port) = match words {
        [Value::Text(host), Value::Int(port), ..] => (&host[..], port),
        [Value::Nil, Value::Int(port), ..] => (&b""[..], port),
        _ => return None,
    };
    let ip = |more: &[Value]| {
        let mut pairs = more.chunks(2);
        pairs.find_map(|pair| match pair {
            [Value::Text(name), Value::Text(ip)] if &name[..] == b"ip" => Some(ip.clone()),
            _ => None,
        })
    };
    let host = match (host, words.get(3)) {
        // The server that was asked does not know the host name that clients should use.
        (b"?", Some(Value::List(more))) => &ip(more)?[..],
        _ => host,
    };
    let host = match std::str::from_utf8(host).ok()? {
        "" => asked.host()?,
        host => host,
    };
    asked.at(host, u16::try_from(*port).ok()?)
}
