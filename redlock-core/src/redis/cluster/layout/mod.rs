//! A server's view of its Cluster: `CLUSTER INFO` and `CLUSTER SLOTS`.

use std::collections::BTreeSet;

use crate::node::hash_slot::SLOTS;
use crate::redis::protocol::wire::Value;

use super::super::address::{Server, server_at};

/// More masters than a Cluster has in practice (the specification says "up to 1000 nodes"). Each master
/// gets a driver. Further masters make the answer invalid; further replicas are ignored.
const MOST_MASTERS: usize = 1024;

/// The masters and their slots.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ranges: Vec<Range>,
    pub(super) ids: BTreeSet<String>,
    pub(super) replicas: Vec<Server>,
}

/// Neighbouring slots, both ends included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Server,
    /// The Cluster's own name of the master, which does not depend on its address.
    pub(super) id: Option<String>,
}

/// The state of the Cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterHealth {
    /// The server sees a majority of the masters, and they have all slots.
    pub(super) is_ok: bool,
    /// Increases with each failover. Of two servers that disagree, the one with the higher epoch is
    /// right.
    pub(super) epoch: u64,
}

impl ClusterHealth {
    /// Reads the text of `CLUSTER INFO`.
    pub(super) fn read(text: &str) -> Self {
        let mut health = Self::default();
        for line in text.lines() {
            match line.split_once(':') {
                Some(("cluster_state", state)) => health.is_ok = state.trim() == "ok",
                Some(("cluster_current_epoch", epoch)) => {
                    health.epoch = epoch.trim().parse().unwrap_or(0);
                }
                _ => {}
            }
        }
        health
    }
}

impl Layout {
    /// Reads the answer of the server `asked` to `CLUSTER SLOTS`; `None` if it is not valid.
    pub(super) fn read(value: &Value<'_>, asked: &Server) -> Option<Self> {
        let Value::Array(entries) = value else {
            return None;
        };
        let mut layout = Self::default();
        let mut masters: Vec<Server> = Vec::new();
        for entry in entries {
            let Value::Array(entry) = entry else {
                return None;
            };
            let [
                Value::Int(first),
                Value::Int(last),
                Value::Array(master),
                replicas @ ..,
            ] = &entry[..]
            else {
                return None;
            };
            let (first, last) = (slot(*first)?, slot(*last)?);
            if first > last {
                return None;
            }
            // A master without a reachable address does not hide the others.
            let Some(master_at) = server(master, asked) else {
                continue;
            };
            if !masters.contains(&master_at) {
                if masters.len() == MOST_MASTERS {
                    return None;
                }
                masters.push(master_at.clone());
            }
            let id = match master.get(2) {
                Some(Value::Bulk(id)) => Some(String::from_utf8_lossy(id).into_owned()),
                _ => None,
            };
            layout.ids.extend(id.clone());
            layout.ranges.push(Range {
                first,
                last,
                master: master_at,
                id,
            });
            for replica in replicas {
                let Value::Array(replica) = replica else {
                    return None;
                };
                if layout.replicas.len() == MOST_MASTERS {
                    break;
                }
                let replica = server(replica, asked);
                layout
                    .replicas
                    .extend(replica.filter(|it| !layout.replicas.contains(it)));
            }
        }
        Some(layout)
    }
}

fn slot(number: i64) -> Option<u16> {
    u16::try_from(number).ok().filter(|slot| *slot < SLOTS)
}

/// `[host, port, id, [name, value, …]]`. Login and TLS are those of the server that was asked.
fn server(words: &[Value<'_>], asked: &Server) -> Option<Server> {
    let (host, port) = match words {
        [Value::Bulk(host), Value::Int(port), ..] => (*host, port),
        [Value::Nil, Value::Int(port), ..] => (&b""[..], port),
        _ => return None,
    };
    let port = u16::try_from(*port).ok()?;
    let host = match host {
        // The server that was asked does not know the host name that clients should use.
        b"?" => match words.get(3)? {
            Value::Array(more) => more.chunks(2).find_map(|pair| match pair {
                [Value::Bulk(b"ip"), Value::Bulk(ip)] => Some(*ip),
                _ => None,
            })?,
            _ => return None,
        },
        host => host,
    };
    server_at(std::str::from_utf8(host).ok()?, port, asked)
}

#[cfg(test)]
mod tests;
