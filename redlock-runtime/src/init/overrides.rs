//! The overrides of the configuration, matched with the program's functions.

use std::collections::BTreeMap;

use crate::config::{Config, SiteConfig};
use crate::registry::pools::Overriding;
use crate::site::{Site, sites};
use crate::text::{Name, did_you_mean, nearest, spelled};

/// A function that the configuration says something of.
pub(crate) struct Overridden {
    pub(crate) site: &'static Site,
    pub(crate) config: SiteConfig,
}

/// Finds the function of each override. Those that fit none, or several, are problems.
pub(super) fn resolve(config: &Config, problems: &mut Vec<String>) -> Vec<Overridden> {
    let overrides = &config.sites;
    if overrides.named.is_empty() && overrides.spelled.is_empty() {
        return Vec::new();
    }
    let by_name = by_name(&sites());
    let mut found: BTreeMap<&str, SiteConfig> = BTreeMap::new();
    for (name, config) in &overrides.named {
        let origin = format!("`[sites.\"{}\"]`", Name(name));
        match by_name.get_key_value(&**name) {
            Some((name, fit)) if fit.len() == 1 => {
                found.insert(name, config.clone());
            }
            Some((_, fit)) => problems.push(fits_several(&origin, fit)),
            None => {
                let known = by_name.keys().copied();
                problems.push(format!("{origin} {FITS_NONE}{}", did_you_mean(name, known)));
            }
        }
    }
    for (name, config) in &overrides.spelled {
        let origin = format!("`REDLOCK_SITES_{}_…`", Name(name));
        let fit = || by_name.iter().filter(|(known, _)| spelled(known) == *name);
        let sites: Vec<_> = fit().flat_map(|(_, sites)| sites.iter().copied()).collect();
        match (fit().next(), &*sites) {
            (Some((name, _)), [_]) => {
                let below = found.remove(&**name).unwrap_or_default();
                found.insert(name, config.clone().above(below));
            }
            (None, _) => {
                let known: Vec<String> = by_name.keys().map(|name| spelled(name)).collect();
                let known = known.iter().map(String::as_str);
                problems.push(format!("{origin} {FITS_NONE}{}", of_variables(name, known)));
            }
            (Some(_), several) => problems.push(fits_several(&origin, several)),
        }
    }
    let overridden = found.into_iter().map(|(name, config)| {
        let site = by_name[name][0];
        Overridden { site, config }
    });
    overridden.collect()
}

/// What the configuration says of functions, for the registry.
pub(crate) fn overriding(overridden: &[Overridden]) -> Vec<(&'static Site, Overriding)> {
    let overriding = overridden.iter().map(|Overridden { site, config }| {
        let over = Overriding {
            options: config.options,
            pools: config.pools.clone(),
        };
        (*site, over)
    });
    overriding.collect()
}

const FITS_NONE: &str = "fits no function under `#[redlock]` in this program";

fn fits_several(origin: &str, sites: &[&Site]) -> String {
    format!(
        "{origin} fits several functions: {}; {NAME_THEM}",
        listed(sites)
    )
}

/// The functions that have one name. The configuration, logs and metrics cannot tell them apart.
pub(super) fn check_names(sites: &[&'static Site], problems: &mut Vec<String>) {
    for (name, sites) in by_name(sites) {
        if sites.len() > 1 {
            problems.push(format!(
                "several functions have the name `{name}`: {}; {NAME_THEM}",
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

const NAME_THEM: &str = "give them names of their own, with `name = \"…\"` in the attribute";

fn listed(sites: &[&Site]) -> String {
    let all: Vec<String> = sites.iter().map(ToString::to_string).collect();
    all.join(", ")
}

fn of_variables<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("; did you mean `REDLOCK_SITES_{near}_…`?"),
        None => did_you_mean(name, known),
    }
}
