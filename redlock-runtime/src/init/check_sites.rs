//! Every annotated function of the program against the configuration.

use std::time::Duration;

use redlock_core::error::Invalid;

use crate::config::{Config, SiteConfig};
use crate::parameters::{LockOptions, check_ttl};
use crate::site::{Site, sites};
use crate::text::Name;

use super::overrides::{Overridden, check_names};

/// What there is against the functions that the configuration overrides.
pub(crate) fn check_overridden(
    config: &Config,
    overridden: &[Overridden],
    problems: &mut Vec<String>,
) {
    for Overridden {
        site,
        config: own,
        origin,
    } in overridden
    {
        let mut refuse =
            |why: &str| problems.push(format!("{site}, overridden by {origin}: {why}"));
        if let Some(names) = &own.pools {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            check_pools(config, &names, &mut refuse);
        }
        if let Err(invalid) = check_values(config, site, Some(own)) {
            refuse(&invalid.to_string());
        }
    }
}

/// What there is against the other functions of the program.
pub(crate) fn check_sites(config: &Config, overridden: &[Overridden], problems: &mut Vec<String>) {
    let sites = sites();
    check_names(&sites, problems);
    for site in &sites {
        let own = override_of(overridden, site);
        // Where there are none at all, one problem says so.
        if !config.pools.is_empty()
            && own.is_none_or(|own| own.pools.is_none())
            && let Some(names) = site.pool_names()
        {
            check_pools(config, names, |why| problems.push(format!("{site} {why}")));
        }
        if site.site_name().is_empty() {
            problems.push(format!(
                "{site}: `name` is empty; give it a name, or leave `name` out"
            ));
        }
        if own.is_none()
            && let Err(invalid) = check_values(config, site, None)
        {
            problems.push(format!("{site}: {invalid}"));
        }
    }
    warn_of_split_templates(config, &sites, overridden);
}

/// What there is against the pools of a function. The macro checks strings only, and no constants.
fn check_pools(config: &Config, names: &[&str], mut refuse: impl FnMut(&str)) {
    if names.is_empty() {
        refuse("names no pool; name at least one, or leave `pools` out");
    }
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            refuse(&format!(
                "names the pool `{}` twice; one pool has one vote",
                Name(name)
            ));
        } else if !config.pools.contains_key(*name) {
            refuse(&unknown_pool(config, name));
        }
    }
}

fn unknown_pool(config: &Config, name: &str) -> String {
    let configured: Vec<_> = config
        .pools
        .keys()
        .map(|name| Name(name).to_string())
        .collect();
    format!(
        "names the pool `{}`, which is not configured; configured: {}",
        Name(name),
        configured.join(", "),
    )
}

pub(super) fn override_of<'a>(overridden: &'a [Overridden], site: &Site) -> Option<&'a SiteConfig> {
    let found = overridden.iter().find(|it| it.site == site);
    found.map(|it| &it.config)
}

/// The values of `site` that are known before a call.
pub(super) fn options_of(config: &Config, site: &Site, own: Option<&SiteConfig>) -> LockOptions {
    let own = own.map_or(LockOptions::NONE, |own| own.options);
    own.above(site.options).above(config.defaults)
}

/// The names of the pools that `site` locks on, sorted.
pub(super) fn pools_of(config: &Config, site: &Site, own: Option<&SiteConfig>) -> Vec<String> {
    let own = own.and_then(|own| own.pools.clone());
    let defaults = || config.default_pools.clone();
    let mut names = own.unwrap_or_else(|| match site.pool_names() {
        Some(names) => names.iter().map(|&name| name.to_owned()).collect(),
        None => defaults().unwrap_or_else(|| config.pools.keys().cloned().collect()),
    });
    names.sort_unstable();
    names
}

/// The values that a call of `site` will have, if they are known before the call.
fn check_values(config: &Config, site: &Site, own: Option<&SiteConfig>) -> Result<(), Invalid> {
    let mut options = options_of(config, site, own);
    let own = own.map_or(LockOptions::NONE, |own| own.options);
    if site.names_at_call().contains(&"ttl") && own.ttl.is_none() {
        // Only the call knows the ttl. A value that is refused with the longest ttl is refused with
        // any, except for `max_hold` and `once_per`, which have to be above the ttl.
        let longest = u64::try_from(config.max_ttl.as_millis()).unwrap_or(u64::MAX);
        options.ttl = Some(Duration::from_millis(longest));
        options.max_hold = None;
        options.once_per = None;
        options.counts = None;
    }
    if options.once_per.is_none() && site.names_at_call().contains(&"once_per") {
        options.counts = None;
    }
    let request = options
        .decided(site.skips)
        .request(site.sample_resource())?;
    check_ttl(request.ttl, config.max_ttl)?;
    request.check()
}

/// Warns of two functions that lock the same template, but on different pools: they do not exclude each other.
fn warn_of_split_templates(config: &Config, sites: &[&Site], overridden: &[Overridden]) {
    let own = |site: &Site| override_of(overridden, site);
    let pools_of = |site: &Site| pools_of(config, site, own(site));
    for (index, one) in sites.iter().enumerate() {
        let template = one.resource_template();
        let others = sites[index + 1..].iter();
        for other in others.filter(|other| other.resource_template() == template) {
            if pools_of(one) != pools_of(other) {
                tracing::warn!(
                    template,
                    "{one} and {other} lock the same resource on different pools: they do not \
                     exclude each other",
                );
            }
        }
    }
}
