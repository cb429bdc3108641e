//! Reads a server's view of its Cluster, from `CLUSTER INFO` and `CLUSTER SLOTS`.

use ::redis::pipe;

use crate::io_thread::IoThread;
use crate::node::hash_slot::SLOTS;
use crate::node::{NodeError, Value};
use crate::redis::address::Server;
use crate::redis::connection::connect;
use crate::redis::errors::{not_connected, rejected};
use crate::redis::latest_answer::DatedAnswer;
use crate::redis::vetting::{ServerFacts, refused_server};

/// A range of slots of one master, both ends included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Server,
    /// The id of the master in the Cluster.
    pub(super) id: String,
}

/// The slots of each master, with the epoch of the Cluster.
type ClusterView = DatedAnswer<Vec<Range>>;

/// Asks `server` for its view, on a new connection.
///
/// Dropping the future closes the socket.
pub(super) async fn ask_for_view(server: Server, io: &IoThread) -> Result<ClusterView, NodeError> {
    let mut questions = pipe();
    questions.cmd("CLUSTER").arg("INFO");
    questions.cmd("CLUSTER").arg("SLOTS");
    read(
        &connect::ask_server(&server, &questions, &mut None, io).await?,
        &server,
    )
}

/// Reads the slots of each master, and the epoch of the Cluster, which increases with each failover.
pub(super) fn read(answers: &[Value], asked: &Server) -> Result<ClusterView, NodeError> {
    let slots = match answers {
        [_, Value::List(slots)] => &slots[..],
        [_, Value::Error(error)] if error.ends_with(b"cluster support disabled") => {
            let detail = "it is not part of a Redis Cluster; write redis:// in the pool's URL";
            return Err(refused_server(detail));
        }
        [_, Value::Error(error)] => return Err(rejected(NodeError::server(error))),
        _ => &[],
    };
    // Skip a master whose address is unusable, but keep the others.
    let answer: Vec<_> = slots.iter().filter_map(|it| range(it, asked)).collect();
    if answer.is_empty() {
        let detail = "it has not joined a Cluster, or its Cluster has no slots";
        return Err(not_connected(detail));
    }
    let info = ServerFacts::of(&answers[0]);
    let epoch = info.get("cluster_current_epoch");
    // The epoch is zero if the ACL hides it. Then the first answer is believed.
    let failover = epoch.and_then(|it| it.parse().ok()).unwrap_or(0);
    Ok(DatedAnswer { failover, answer })
}

/// Reads the entry `[first, last, [host, port, id, …], …]`. The master gets the login and TLS of the server that was
/// `asked`. If the entry has no host, the master gets the host of that server too.
fn range(entry: &Value, asked: &Server) -> Option<Range> {
    let Value::List(entry) = entry else {
        return None;
    };
    let [Value::Int(first), Value::Int(last), Value::List(master), ..] = &entry[..] else {
        return None;
    };
    let [host, Value::Int(port), id, ..] = &master[..] else {
        return None;
    };
    let host = text(host).filter(|host| !host.is_empty());
    let slot = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < SLOTS);
    let (first, last) = (slot(*first)?, slot(*last)?);
    (first <= last).then_some(Range {
        first,
        last,
        master: asked.at(host, u16::try_from(*port).ok()?)?,
        id: text(id)?.to_owned(),
    })
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => std::str::from_utf8(text).ok(),
        _ => None,
    }
}
