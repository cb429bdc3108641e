//! The annotated functions as JSON. Times are whole ms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::json::ms;
use crate::parameters::{LockOptions, Shown};
use crate::registry::Registry;
use crate::registry::health::SiteReport;

#[derive(Serialize)]
pub(super) struct Sites {
    sites: Vec<SiteEntry>,
}

#[derive(Serialize)]
struct SiteEntry {
    site: &'static str,
    file: &'static str,
    line: u32,
    resource: &'static str,
    pools: Vec<String>,
    held: usize,
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
        Self { sites }
    }
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
