//! The JSON of the documents. The page shows the same values.

use std::collections::BTreeMap;
use std::time::Duration;

use redlock_runtime::Resource;
use redlock_runtime::error::NodeError;
use redlock_runtime::health::{NodeStatus, PoolHealth, VotingPools};
use redlock_runtime::registry::{Candidacy, HeldLease, Registry, SiteReport};
use serde::Serialize;

use crate::text::{Ms, Us, utc};

#[derive(Serialize)]
pub(crate) struct HealthView {
    pub(crate) ready: bool,
    pub(crate) owner: String,
    pub(crate) shutting_down: bool,
    #[serde(with = "VotesView")]
    pub(crate) votes: VotingPools,
    pub(crate) held: usize,
    pub(crate) waiting: usize,
    pub(crate) pools: Vec<PoolView>,
}

/// The fields of [`VotingPools`] in JSON.
#[derive(Serialize)]
#[serde(remote = "VotingPools")]
struct VotesView {
    voting: usize,
    needed: usize,
    configured: usize,
}

#[derive(Serialize)]
pub(crate) struct PoolView {
    #[serde(rename = "pool")]
    pub(crate) name: String,
    pub(crate) default: bool,
    pub(crate) votes: bool,
    /// The reason why the node abstains.
    pub(crate) reason: Option<NodeErrorView>,
    pub(crate) server: Option<String>,
    pub(crate) connected: bool,
    /// The time since the node was connected or disconnected.
    pub(crate) since_ms: Option<Ms>,
    pub(crate) connections: u64,
    pub(crate) epoch: u32,
    pub(crate) leases_without_grant: usize,
    pub(crate) answers: u64,
    pub(crate) in_flight: usize,
    pub(crate) latency_us: Option<Us>,
    /// The number of errors of each kind.
    pub(crate) errors: BTreeMap<&'static str, u64>,
    pub(crate) last_error: Option<NodeErrorView>,
    pub(crate) clock_ahead_us: Option<Us>,
    pub(crate) clock_within_us: Option<Us>,
}

#[derive(Serialize)]
pub(crate) struct NodeErrorView {
    kind: &'static str,
    pub(crate) text: String,
    pub(crate) ago_ms: Option<Ms>,
}

impl HealthView {
    pub(crate) fn of(registry: &Registry) -> Self {
        Self {
            ready: registry.is_ready(),
            owner: registry.owner().to_owned(),
            shutting_down: registry.is_closing(),
            votes: registry.votes(),
            held: registry.held_count(),
            waiting: registry.waiting(),
            pools: all(registry.health()),
        }
    }
}

impl From<PoolHealth> for PoolView {
    fn from(pool: PoolHealth) -> Self {
        let (votes, node) = (pool.is_voting(), pool.node_health);
        let trouble = |error: &NodeError, ago: Option<Duration>| NodeErrorView {
            kind: error.kind().as_str(),
            text: error.to_string(),
            ago_ms: ago.map(Ms),
        };
        let reason = match &pool.status {
            NodeStatus::Abstaining(error) => Some(trouble(error, None)),
            _ => None,
        };
        let last_error = node.last_error;
        Self {
            name: pool.pool,
            default: pool.is_default,
            votes,
            reason,
            server: node.server,
            connected: node.is_connected,
            since_ms: node.since.map(Ms),
            connections: node.connections,
            epoch: pool.epoch,
            leases_without_grant: pool.leases_without_grant,
            answers: node.answers,
            in_flight: node.in_flight,
            latency_us: node.latency.map(Us::of),
            errors: node
                .errors
                .iter()
                .map(|(kind, count)| (kind.as_str(), *count))
                .collect(),
            last_error: last_error.map(|last| trouble(&last.error, Some(last.ago))),
            clock_ahead_us: node.clock.map(|clock| Us(clock.ahead_us)),
            clock_within_us: node.clock.map(|clock| Us::of(clock.within)),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct LeaseView {
    /// A text for readers: escaped, and cut if it is long.
    pub(crate) resource: String,
    names: Vec<String>,
    pub(crate) site: &'static str,
    pub(crate) since: String,
    pub(crate) held_ms: Ms,
    pub(crate) validity_ms: Ms,
    pub(crate) ttl_ms: Ms,
    pub(crate) extensions: u32,
    pub(crate) fencing_token: Option<u64>,
    pub(crate) permit: Option<u16>,
    pub(crate) kind: &'static str,
    pub(crate) token_id: String,
    pub(crate) note: Option<String>,
    pub(crate) pools: Vec<String>,
    pub(crate) sharers: usize,
    pub(crate) has_body: bool,
    pub(crate) waiting: usize,
}

#[derive(Serialize)]
pub(crate) struct ElectionView {
    /// A text for readers: escaped, and cut if it is long.
    pub(crate) resource: String,
    pub(crate) site: &'static str,
    pub(crate) value: Option<String>,
    pub(crate) leading: bool,
    pub(crate) leading_ms: Option<Ms>,
    pub(crate) fencing_token: Option<u64>,
}

impl From<HeldLease> for LeaseView {
    fn from(lease: HeldLease) -> Self {
        let names = lease.resource.names();
        Self {
            resource: lease.resource.to_string(),
            names: names.map(|name| Resource::from(name).to_string()).collect(),
            site: lease.site.name(),
            since: utc(lease.since),
            held_ms: Ms(lease.held_for),
            validity_ms: Ms(lease.validity),
            ttl_ms: Ms(lease.ttl),
            extensions: lease.extensions,
            fencing_token: lease.fencing_token.map(u64::from),
            permit: lease.permit,
            kind: lease.kind.label(),
            token_id: lease.token_id,
            note: lease.note.map(|note| note.to_string()),
            pools: lease.pools,
            sharers: lease.sharers,
            has_body: lease.has_body,
            waiting: lease.waiting,
        }
    }
}

impl From<Candidacy> for ElectionView {
    fn from(candidacy: Candidacy) -> Self {
        Self {
            resource: candidacy.resource.to_string(),
            site: candidacy.site.name(),
            value: candidacy.value,
            leading: candidacy.leading_for.is_some(),
            leading_ms: candidacy.leading_for.map(Ms),
            fencing_token: candidacy.fencing_token.map(u64::from),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct FunctionView {
    pub(crate) site: &'static str,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) resource: &'static str,
    pub(crate) held: usize,
    pub(crate) parameters: BTreeMap<&'static str, ParameterView>,
}

/// A value in the format of `redlock.toml`, and the layer that sets it.
///
/// A value that is known only at the call is `None`.
#[derive(Serialize)]
pub(crate) struct ParameterView {
    pub(crate) value: Option<String>,
    pub(crate) layer: &'static str,
}

impl From<SiteReport> for FunctionView {
    fn from(report: SiteReport) -> Self {
        let parameters = report.parameters.into_iter().map(|(name, parameter)| {
            let (value, layer) = (parameter.value, parameter.layer.as_str());
            (name, ParameterView { value, layer })
        });
        Self {
            site: report.site.name(),
            file: report.site.file(),
            line: report.site.line(),
            resource: report.site.resource_template(),
            held: report.held,
            parameters: parameters.collect(),
        }
    }
}

/// Converts each item of `from` to its view.
pub(crate) fn all<T: From<F>, F>(from: Vec<F>) -> Vec<T> {
    from.into_iter().map(T::from).collect()
}
