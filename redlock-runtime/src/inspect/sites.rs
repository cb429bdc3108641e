//! The annotated functions as JSON. Times are whole ms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::json::ms;
use super::text::utc;
use crate::parameters::{LockOptions, Shown};
use crate::registry::Registry;
use crate::registry::health::{NamedReport, SiteReport};
use crate::telemetry::{JobRun, Refusal};

#[derive(Serialize)]
pub(super) struct Sites {
    sites: Vec<SiteEntry>,
    object_style: ObjectStyle,
}

/// Locks that no annotated function takes.
#[derive(Serialize)]
struct ObjectStyle {
    /// The calls without a name.
    refused: Vec<RefusedBy>,
    named: Vec<NamedEntry>,
}

#[derive(Serialize)]
struct NamedEntry {
    name: &'static str,
    file: &'static str,
    line: u32,
    held: usize,
    refused: Vec<RefusedBy>,
    last_run: Option<RunEntry>,
}

impl From<NamedReport> for NamedEntry {
    fn from(report: NamedReport) -> Self {
        Self {
            name: report.site.site_name(),
            file: report.site.file(),
            line: report.site.line(),
            held: report.held,
            refused: refused(report.refused),
            last_run: report.last_run.map(RunEntry::from),
        }
    }
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
struct RunEntry {
    by: String,
    began: Option<String>,
    resource: String,
    next_in_ms: u64,
    /// The calls of this process that were not run because of this run.
    calls_not_run: u64,
}

impl From<JobRun> for RunEntry {
    fn from(run: JobRun) -> Self {
        Self {
            by: run.by,
            began: run.began.map(utc),
            resource: run.resource.to_string(),
            next_in_ms: ms(run.next_in),
            calls_not_run: run.calls_not_run,
        }
    }
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
    /// The same for a function that skips its calls then, in the place of `refused`.
    skipped: Vec<RefusedBy>,
    /// The last run of a function with a period, as far as this process knows.
    last_run: Option<RunEntry>,
    parameters: BTreeMap<Cow<'static, str>, Value>,
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
            named: registry.named().into_iter().map(NamedEntry::from).collect(),
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
        let by_holder = refused(report.refused);
        let (refused, skipped) = if report.parameters.skips {
            (Vec::new(), by_holder)
        } else {
            (by_holder, Vec::new())
        };
        Self {
            site: site.site_name(),
            file: site.file(),
            line: site.line(),
            resource: site.resource_template(),
            pools: report.pools,
            held: report.held,
            refused,
            skipped,
            last_run: report.last_run.map(RunEntry::from),
            parameters,
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
