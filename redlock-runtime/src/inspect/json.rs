//! The documents as JSON. Times are whole ms or µs, as their names say.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::node::NodeStatus;
use serde::Serialize;

use super::Document;
use super::text::utc;
use crate::health::PoolHealth;
use crate::parameters::{LockOptions, Shown};
use crate::registry::HeldLease;
use crate::registry::Registry;
use crate::registry::health::SiteReport;
use crate::registry::kept::KeptKeys;
use crate::telemetry::Refusal;

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
#[expect(
    clippy::struct_excessive_bools,
    reason = "answers to several questions"
)]
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
    latency_us: Option<Latency>,
    /// Those that came up.
    errors: BTreeMap<&'static str, u64>,
    last_error: Option<LastError>,
    clock: Option<Clock>,
    watched: bool,
}

#[derive(Serialize)]
struct Reason {
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Latency {
    last: u64,
    smoothed: u64,
    longest: Option<u64>,
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
    outlier: bool,
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
            latency_us: node_health.latency.map(|latency| Latency {
                last: us(latency.last),
                smoothed: us(latency.smoothed),
                longest: latency.longest.map(us),
            }),
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
                outlier: clock.is_outlier,
            }),
            watched: node_health.is_watched,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Held {
    held: Vec<Lease>,
    /// What finished calls left on the nodes on purpose.
    kept: Vec<Kept>,
}

#[derive(Serialize)]
struct Kept {
    /// A text for readers, as in [`Lease`].
    resource: String,
    site: Option<&'static str>,
    parameter: &'static str,
    until: String,
    left_ms: u64,
}

#[derive(Serialize)]
struct Lease {
    /// A text for readers: escaped, and cut if it is long.
    resource: String,
    names: Vec<String>,
    site: Option<&'static str>,
    since: String,
    held_ms: u64,
    validity_ms: u64,
    ttl_ms: u64,
    extensions: u32,
    fencing_token: Option<u64>,
    permits: Vec<u16>,
    mode: Option<&'static str>,
    token_id: String,
    pools: Vec<String>,
    sharers: usize,
    has_body: bool,
    waiting: usize,
}

impl Held {
    pub(super) fn of(registry: &Registry) -> Self {
        let held = registry.held().into_iter().map(Lease::from).collect();
        let kept = registry.kept().into_iter().map(Kept::from).collect();
        Self { held, kept }
    }
}

impl From<KeptKeys> for Kept {
    fn from(kept: KeptKeys) -> Self {
        Self {
            resource: kept.resource.to_string(),
            site: kept.site.map(crate::site::Site::site_name),
            parameter: kept.parameter,
            until: utc(kept.until),
            left_ms: ms(kept.left),
        }
    }
}

impl From<HeldLease> for Lease {
    fn from(lease: HeldLease) -> Self {
        let names = lease.resource.names();
        Self {
            resource: lease.resource.to_string(),
            names: names.map(|name| Resource::from(name).to_string()).collect(),
            site: lease.site.map(crate::site::Site::site_name),
            since: utc(lease.since),
            held_ms: ms(lease.held_for),
            validity_ms: ms(lease.validity),
            ttl_ms: ms(lease.ttl),
            extensions: lease.extensions,
            fencing_token: lease.fencing_token.map(u64::from),
            permits: lease.permits,
            mode: lease.mode.map(crate::parameters::Mode::as_str),
            token_id: lease.token_id,
            pools: lease.pools,
            sharers: lease.sharers,
            has_body: lease.has_body,
            waiting: lease.waiting,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Sites {
    sites: Vec<SiteEntry>,
    object_style: ObjectStyle,
}

/// Locks that no annotated function takes.
#[derive(Serialize)]
struct ObjectStyle {
    refused: Vec<RefusedBy>,
}

/// The calls of the last minutes that were refused because of one holder.
#[derive(Serialize)]
struct RefusedBy {
    by: String,
    count: u64,
    longest_wait_ms: u64,
    ago_ms: u64,
    resource: String,
}

#[derive(Serialize)]
struct SiteEntry {
    site: &'static str,
    file: &'static str,
    line: u32,
    resource: &'static str,
    pools: Vec<String>,
    held: usize,
    refused: Vec<RefusedBy>,
    parameters: BTreeMap<Cow<'static, str>, Value>,
    preset: Option<&'static str>,
    /// The parameters that come from the preset.
    from_preset: Vec<&'static str>,
    /// What the configuration says for this function alone.
    overridden: Vec<&'static str>,
    /// The parameters that each call has a value of its own for.
    at_call: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Ms(u64),
    Count(u32),
    Number(f64),
    Is(bool),
    Word(&'static str),
}

impl Sites {
    pub(super) fn of(registry: &Registry) -> Self {
        let sites = registry.sites().into_iter().map(SiteEntry::from).collect();
        let object_style = ObjectStyle {
            refused: refused(registry.refused()),
        };
        Self {
            sites,
            object_style,
        }
    }
}

fn refused(refusals: Vec<Refusal>) -> Vec<RefusedBy> {
    let refused = refusals.into_iter().map(|refusal| RefusedBy {
        by: refusal.by,
        count: refusal.count,
        longest_wait_ms: ms(refusal.longest_wait),
        ago_ms: ms(refusal.ago),
        resource: refusal.resource.to_string(),
    });
    refused.collect()
}

impl From<SiteReport> for SiteEntry {
    fn from(report: SiteReport) -> Self {
        let site = report.site;
        let parameters = values(&report);
        Self {
            site: site.site_name(),
            file: site.file(),
            line: site.line(),
            resource: site.resource_template(),
            pools: report.pools,
            held: report.held,
            refused: refused(report.refused),
            parameters,
            preset: site.preset_name(),
            from_preset: report.from_preset,
            overridden: report.overridden,
            at_call: report.at_call,
        }
    }
}

/// Without the parameters that each call has a value of its own for.
fn values(report: &SiteReport) -> BTreeMap<Cow<'static, str>, Value> {
    let mut values = BTreeMap::new();
    for (name, shown) in report.parameters.shown() {
        if LockOptions::answers(name).any(|name| report.at_call.contains(&name)) {
            continue;
        }
        let (key, value) = match shown {
            Shown::Time(time) => (format!("{name}_ms").into(), Value::Ms(ms(time))),
            Shown::Count(count) => (name.into(), Value::Count(count)),
            Shown::Number(number) => (name.into(), Value::Number(number)),
            Shown::Is(is) => (name.into(), Value::Is(is)),
            Shown::Word(word) => (name.into(), Value::Word(word)),
        };
        values.insert(key, value);
    }
    let if_locked = if report.parameters.skips {
        "skip"
    } else {
        "error"
    };
    values.insert("if_locked".into(), Value::Word(if_locked));
    values
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
