//! The annotated functions of the program, with the values that the configuration gives them.

use std::fmt::Display;
use std::time::Duration;

use redlock_core::error::{Brief, Invalid};

use crate::config::{Config, SiteConfig};
use crate::parameters::{LockOptions, Renewal, Wait, check_ttl};
use crate::site::{Site, sites};

use super::overrides::{SiteOverride, check_names};

/// Checks the functions that the configuration overrides.
pub(super) fn check_overrides(
    config: &Config,
    overrides: &[SiteOverride],
    problems: &mut Vec<String>,
) {
    for SiteOverride {
        site,
        config: own,
        origin,
    } in overrides
    {
        let mut refuse =
            |why: &str| problems.push(format!("{site}, overridden by {origin}: {why}"));
        if let Some(names) = &own.pools {
            config.check_pool_names(names, &mut refuse);
        }
        if let Err(invalid) = check_values(config, site, Some(own)) {
            refuse(&invalid.to_string());
        }
    }
}

/// Checks the other functions of the program.
pub(super) fn check_sites(config: &Config, overrides: &[SiteOverride], problems: &mut Vec<String>) {
    let sites = sites();
    check_names(&sites, problems);
    warn_of_short_times(config, "defaults", config.defaults);
    for site in &sites {
        let own = override_of(overrides, site);
        let options = own.map_or(LockOptions::NONE, |own| own.options);
        warn_of_short_times(config, site, options.above(site.options));
        if own.is_none_or(|own| own.pools.is_none())
            && let Some(names) = site.pool_names()
        {
            config.check_pool_names(names, |why| problems.push(format!("{site} {why}")));
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
    warn_of_split_templates(config, &sites, overrides);
}

/// Returns the override of `site`, if the configuration has one.
pub(super) fn override_of<'a>(
    overrides: &'a [SiteOverride],
    site: &Site,
) -> Option<&'a SiteConfig> {
    let found = overrides.iter().find(|it| it.site == site);
    found.map(|it| &it.config)
}

/// Returns the values of `site` that are known before a call.
pub(super) fn options_of(config: &Config, site: &Site, own: Option<&SiteConfig>) -> LockOptions {
    let own = own.map_or(LockOptions::NONE, |own| own.options);
    own.above(site.options).above(config.defaults)
}

/// Returns the names of the pools that `site` locks on, sorted.
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

/// Checks the values that a call of `site` will have, if they are known before the call.
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

/// Warns of times that were probably meant as seconds. A node may take its `node_timeout` to answer: a call gives it at
/// most a quarter of the ttl, and a `wait` has to leave time for another attempt.
fn warn_of_short_times(config: &Config, of: impl Display, options: LockOptions) {
    let warn = |name, time: Duration, times: u32| {
        if time < config.node_timeout.saturating_mul(times) {
            tracing::warn!(
                "{of}: `{name}` is {}, below {times} times `node_timeout`; a number without a unit is milliseconds: \
                 write \"{}s\" if it is seconds",
                Brief(time),
                time.as_millis(),
            );
        }
    };
    if let Some(ttl) = options.ttl {
        warn("ttl", ttl, 4);
    }
    if let Some(Wait::For(time)) = options.wait {
        warn("wait", time, 2);
    }
    if let Some(Renewal::For(time)) = options.max_hold {
        warn("max_hold", time, 4);
    }
}

/// Warns of two functions that lock the same template, but on different pools: they do not exclude each other.
fn warn_of_split_templates(config: &Config, sites: &[&Site], overrides: &[SiteOverride]) {
    let own = |site: &Site| override_of(overrides, site);
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
