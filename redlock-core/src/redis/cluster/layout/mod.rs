//! What a server says of its Cluster: `CLUSTER INFO` and `CLUSTER SLOTS`.

use std::collections::BTreeSet;

use crate::node::hash_slot::SLOTS;
use crate::redis::protocol::wire::Value;

use super::super::address::{Server, server_at};

/// More masters than a Cluster can well have ("up to 1000 nodes", says the specification): each is
/// given a driver. Replicas beyond as many are not remembered.
const MOST_MASTERS: usize = 1024;

/// The masters and their slots.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ranges: Vec<Range>,
    pub(super) ids: BTreeSet<String>,
    pub(super) replicas: Vec<Server>,
}

/// Slots that belong together, both ends included.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Server,
    /// The Cluster's own name of the master, which it keeps whatever its address.
    pub(super) id: Option<String>,
}

/// How the Cluster is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterHealth {
    /// The server sees a majority of the masters, and they have all slots.
    pub(super) is_ok: bool,
    /// Goes up with each failover: of two who differ, the one with the higher epoch knows better.
    pub(super) epoch: u64,
}

impl ClusterHealth {
    /// From the text of `CLUSTER INFO`.
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
    /// From the answer to `CLUSTER SLOTS` of the server `asked`; `None` where it is none.
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
            // One without a name that anybody can reach does not hide the others.
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

/// `[host, port, id, [name, value, …]]`; login and TLS are those of the server that was asked.
fn server(words: &[Value<'_>], asked: &Server) -> Option<Server> {
    let (host, port) = match words {
        [Value::Bulk(host), Value::Int(port), ..] => (*host, port),
        [Value::Nil, Value::Int(port), ..] => (&b""[..], port),
        _ => return None,
    };
    let port = u16::try_from(*port).ok()?;
    let host = match host {
        // The host name that it is to be known by is not known to the server that was asked.
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
