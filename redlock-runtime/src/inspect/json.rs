//! The documents as JSON. Times are whole ms or µs, as their names say.

use std::collections::BTreeMap;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::node::NodeStatus;
use serde::Serialize;

use super::Document;
use super::elections::ElectionEntry;
use super::text::utc;
use crate::health::PoolHealth;
use crate::registry::HeldLease;
use crate::registry::Registry;

pub(super) fn document(status: u16, of: &impl Serialize) -> Document {
    // Strings, numbers and maps with names: nothing of it can fail.
    let body = serde_json::to_string_pretty(of).unwrap_or_default();
    Document {
        status,
        content_type: "application/json",
        body,
    }
}

#[derive(Serialize)]
pub(super) struct Health {
    pub(super) ready: bool,
    owner: String,
    shutting_down: bool,
    votes: Votes,
    held: usize,
    waiting: usize,
    pools: Vec<PoolEntry>,
}

#[derive(Serialize)]
struct Votes {
    voting: usize,
    needed: usize,
    configured: usize,
}

#[derive(Serialize)]
struct PoolEntry {
    pool: String,
    default: bool,
    votes: bool,
    /// Why it does not vote.
    reason: Option<Reason>,
    server: Option<String>,
    connected: bool,
    /// For how long it has been connected, or not.
    since_ms: Option<u64>,
    connections: u64,
    epoch: u32,
    not_resting: usize,
    answers: u64,
    in_flight: usize,
    latency_us: Option<u64>,
    /// Those that came up.
    errors: BTreeMap<&'static str, u64>,
    last_error: Option<LastError>,
    clock: Option<Clock>,
}

#[derive(Serialize)]
struct Reason {
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct LastError {
    kind: &'static str,
    text: String,
    ago_ms: u64,
}

#[derive(Serialize)]
struct Clock {
    ahead_us: i64,
    within_us: u64,
    ago_ms: u64,
}

impl Health {
    pub(super) fn of(registry: &Registry) -> Self {
        let votes = registry.votes();
        Self {
            ready: registry.is_ready(),
            owner: registry.owner().to_owned(),
            shutting_down: registry.is_closing(),
            votes: Votes {
                voting: votes.voting,
                needed: votes.needed,
                configured: votes.configured,
            },
            held: registry.held_count(),
            waiting: registry.waiting(),
            pools: registry.health().into_iter().map(PoolEntry::from).collect(),
        }
    }
}

impl From<PoolHealth> for PoolEntry {
    fn from(health: PoolHealth) -> Self {
        let votes = health.is_voting();
        let node_health = health.node_health;
        let reason = match &health.status {
            NodeStatus::Abstaining(error) => Some(Reason {
                kind: error.kind().as_str(),
                text: error.to_string(),
            }),
            _ => None,
        };
        Self {
            pool: health.pool,
            default: health.is_default,
            votes,
            reason,
            server: node_health.server,
            connected: node_health.is_connected,
            since_ms: node_health.since.map(ms),
            connections: node_health.connections,
            epoch: health.epoch,
            not_resting: health.not_resting,
            answers: node_health.answers,
            in_flight: node_health.in_flight,
            latency_us: node_health.latency.map(us),
            errors: (node_health.errors.iter())
                .filter(|(_, count)| *count > 0)
                .map(|(kind, count)| (kind.as_str(), count))
                .collect(),
            last_error: node_health.last_error.map(|last| LastError {
                kind: last.error.kind().as_str(),
                text: last.error.to_string(),
                ago_ms: ms(last.ago),
            }),
            clock: node_health.clock.map(|clock| Clock {
                ahead_us: clock.ahead_us,
                within_us: us(clock.within),
                ago_ms: ms(clock.ago),
            }),
        }
    }
}

#[derive(Serialize)]
pub(super) struct HeldDocument {
    held: Vec<Lease>,
    /// The elections in which this process stands.
    elections: Vec<ElectionEntry>,
}

#[derive(Serialize)]
struct Lease {
    /// A text for readers: escaped, and cut if it is long.
    resource: String,
    names: Vec<String>,
    site: &'static str,
    since: String,
    held_ms: u64,
    validity_ms: u64,
    ttl_ms: u64,
    extensions: u32,
    fencing_token: Option<u64>,
    permit: Option<u16>,
    mode: Option<&'static str>,
    token_id: String,
    note: Option<String>,
    pools: Vec<String>,
    sharers: usize,
    has_body: bool,
    waiting: usize,
}

impl HeldDocument {
    pub(super) fn of(registry: &Registry) -> Self {
        let held = registry.held().into_iter().map(Lease::from).collect();
        let elections = registry.elections().into_iter();
        Self {
            held,
            elections: elections.map(ElectionEntry::from).collect(),
        }
    }
}

impl From<HeldLease> for Lease {
    fn from(lease: HeldLease) -> Self {
        let names = lease.resource.names();
        Self {
            resource: lease.resource.to_string(),
            names: names.map(|name| Resource::from(name).to_string()).collect(),
            site: lease.site.site_name(),
            since: utc(lease.since),
            held_ms: ms(lease.held_for),
            validity_ms: ms(lease.validity),
            ttl_ms: ms(lease.ttl),
            extensions: lease.extensions,
            fencing_token: lease.fencing_token.map(u64::from),
            permit: lease.permit,
            mode: lease.mode.map(crate::parameters::Mode::as_str),
            token_id: lease.token_id,
            note: lease.note.map(|note| note.as_str().to_owned()),
            pools: lease.pools,
            sharers: lease.sharers,
            has_body: lease.has_body,
            waiting: lease.waiting,
        }
    }
}

pub(super) fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
