//! Finds the function of each override.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::config::keys::KeyPath;
use crate::error::{Problem, ProblemKind};
use crate::site::{Site, sites};
use crate::text::did_you_mean;

/// Returns the functions with an override. Adds a problem for each override that fits no function, or several.
pub(super) fn match_overrides(config: &Config, problems: &mut Vec<Problem>) -> Vec<&'static Site> {
    let by_name = by_name(&sites());
    let mut overridden = Vec::new();
    for name in config.sites.keys() {
        let table = KeyPath::new("sites", name, "");
        let mut refuse = |why: String| {
            let text = format!("{} {why}", table.table());
            let problem = Problem::new(ProblemKind::UnknownSite, text);
            problems.push(problem.at(config.place(&table)).of_site(name));
        };
        match by_name.get(name.as_str()).map(Vec::as_slice) {
            Some(&[site]) => overridden.push(site),
            Some(sites) => refuse(format!("fits several functions: {}", listed(sites))),
            None => refuse(format!(
                "fits no function under `#[redlock]` in this program{}",
                did_you_mean(name, by_name.keys().copied()),
            )),
        }
    }
    overridden
}

/// Refuses functions with equal names, because the configuration, logs and metrics cannot tell them apart.
pub(super) fn check_names(sites: &[&'static Site], problems: &mut Vec<Problem>) {
    for (name, sites) in by_name(sites) {
        if sites.len() > 1 {
            let listed = listed(&sites);
            let text = format!("several functions have the name `{name}`: {listed}");
            problems.push(Problem::invalid(text).of_site(name));
        }
    }
}

fn by_name(sites: &[&'static Site]) -> BTreeMap<&'static str, Vec<&'static Site>> {
    let mut by_name: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for site in sites {
        by_name.entry(site.name()).or_default().push(*site);
    }
    by_name
}

/// Lists functions with equal names, and says how to name them. Functions that one macro makes have one place.
fn listed(sites: &[&Site]) -> String {
    let mut listed: Vec<_> = sites.iter().map(ToString::to_string).collect();
    listed.dedup();
    let way = if listed.len() < sites.len() {
        "one attribute is on several functions: in a `macro_rules!` macro, give each its own `name = $name`; if \
         another attribute makes several functions of one, write `#[redlock]` above that attribute"
    } else {
        "give them names of their own, with `name = \"…\"` in the attribute"
    };
    format!("{}; {way}", listed.join(", "))
}
