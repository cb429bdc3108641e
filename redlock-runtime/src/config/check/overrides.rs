//! The overrides of the configuration, matched with the program's functions.

use std::collections::BTreeMap;

use crate::config::{Config, SiteConfig, SiteName};
use crate::site::{Site, sites};
use crate::text::{did_you_mean, spelled};

/// A function of the program, and the part of the configuration that overrides its attribute.
pub(crate) struct SiteOverride {
    pub(crate) site: &'static Site,
    pub(crate) config: SiteConfig,
    /// The places in the configuration, as text.
    pub(crate) origin: String,
}

/// Finds the function of each override. An override that fits none, or several, is a problem.
pub(super) fn match_overrides(config: &Config, problems: &mut Vec<String>) -> Vec<SiteOverride> {
    let by_name = by_name(&sites());
    let mut found: BTreeMap<&str, SiteOverride> = BTreeMap::new();
    for (name, own) in &config.sites {
        let origin = config.origin_of(name);
        let fit: Vec<_> = by_name
            .iter()
            .filter(|(known, _)| name.fits(known))
            .collect();
        let sites = || fit.iter().flat_map(|(_, sites)| sites.iter().copied());
        match (&*fit, sites().next()) {
            ([(known, sites)], Some(site)) if sites.len() == 1 => {
                let below = found.remove(**known);
                let (lower, lower_origin) = below.map(|it| (it.config, it.origin)).unzip();
                let origins = lower_origin.into_iter().chain([origin]);
                let own_override = SiteOverride {
                    site,
                    config: own.clone().above(lower.unwrap_or_default()),
                    origin: origins.collect::<Vec<_>>().join(" and "),
                };
                found.insert(known, own_override);
            }
            ([], _) => problems.push(format!(
                "{origin} fits no function under `#[redlock]` in this program{}",
                meant(name, by_name.keys().copied()),
            )),
            _ => problems.push(format!(
                "{origin} fits several functions: {}",
                listed(&sites().collect::<Vec<_>>()),
            )),
        }
    }
    found.into_values().collect()
}

/// Refuses functions that have one name: the configuration, logs and metrics cannot tell them apart.
pub(super) fn check_names(sites: &[&'static Site], problems: &mut Vec<String>) {
    for (name, sites) in by_name(sites) {
        if sites.len() > 1 {
            problems.push(format!(
                "several functions have the name `{name}`: {}",
                listed(&sites)
            ));
        }
    }
}

fn by_name(sites: &[&'static Site]) -> BTreeMap<&'static str, Vec<&'static Site>> {
    let mut by_name: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for site in sites {
        by_name.entry(site.site_name()).or_default().push(*site);
    }
    by_name
}

/// Lists sites that need names, and says how to name them. An attribute that a macro repeats is one place.
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

/// `; did you mean …?`, in the form of the override.
fn meant<'a>(name: &SiteName, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match name {
        SiteName::Named(name) => did_you_mean(name, known),
        SiteName::Spelled(name) => {
            let known: Vec<String> = known.map(spelled).collect();
            did_you_mean(name, known.iter().map(String::as_str))
        }
    }
}
