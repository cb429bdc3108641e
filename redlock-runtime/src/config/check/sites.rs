//! Checks annotated functions, with the parameters that the configuration gives them.

use std::fmt::Display;
use std::time::Duration;

use redlock_core::error::{Brief, Invalid};
use redlock_core::targets;

use super::CheckedConfig;
use super::overrides::check_names;
use crate::config::SiteConfig;
use crate::config::keys::KeyPath;
use crate::error::Problem;
use crate::parameters::{LockOptions, MaxHold, Wait, check_ttl};
use crate::site::Site;

impl CheckedConfig {
    /// Checks the functions that the configuration overrides.
    pub(super) fn check_overrides(&self, problems: &mut Vec<Problem>) {
        for &site in &self.sites {
            let table = KeyPath::new("sites", site.name(), "");
            let mut refuse = |problem: Problem| {
                let heading = format!("{site}, overridden by {}: ", table.table());
                let problem = problem.under(heading).at(self.config.place(&table));
                problems.push(problem.of_site(site.name()));
            };
            let own = self.override_of(site);
            if let Some(names) = own.and_then(|own| own.pools.as_ref()) {
                self.config.check_pool_names(names, &mut refuse);
            }
            // With the literal `fencing = true`, the type of the guard has a fencing token.
            let is_unfenced = own.is_some_and(|own| own.options.fencing == Some(false));
            if is_unfenced && site.options.fencing == Some(true) {
                refuse(Problem::invalid(
                    "`fencing = false` takes the token on which the body relies, as its attribute has the literal \
                     `fencing = true`; leave `fencing` out here, or write a constant there",
                ));
            }
            if let Err(invalid) = self.check_values(site) {
                refuse(Problem::invalid(invalid.to_string()));
            }
        }
    }

    /// Checks all functions of the program.
    pub(super) fn check_sites(&self, problems: &mut Vec<Problem>) {
        check_names(&self.sites, problems);
        self.warn_of_short_times("defaults", self.config.defaults);
        for site in &self.sites {
            let mut refuse = |problem: Problem| problems.push(problem.of_site(site.name()));
            let own = self.override_of(site);
            let options = own.map_or(LockOptions::NONE, |own| own.options);
            self.warn_of_short_times(site, options.above(site.options));
            if own.is_none_or(|own| own.pools.is_none())
                && let Some(names) = site.pools()
            {
                self.config.check_pool_names(names, |problem| {
                    refuse(problem.under(format_args!("{site} ")));
                });
            }
            if site.name().is_empty() {
                let text = format!("{site}: `name` is empty; give it a name, or leave `name` out");
                refuse(Problem::invalid(text));
            }
            if own.is_none()
                && let Err(invalid) = self.check_values(site)
            {
                refuse(Problem::invalid(format!("{site}: {invalid}")));
            }
        }
        self.warn_of_split_templates();
    }

    /// Returns the override of `site`, if there is one.
    pub(crate) fn override_of(&self, site: &Site) -> Option<&SiteConfig> {
        self.config.sites.get(site.name())
    }

    /// Returns the parameters of `site` that are known before a call.
    pub(super) fn options_of(&self, site: &Site) -> LockOptions {
        let own = self.override_of(site);
        let own = own.map_or(LockOptions::NONE, |own| own.options);
        own.above(site.options).above(self.config.defaults)
    }

    /// Returns the sorted names of the pools on which `site` locks.
    pub(super) fn pools_of(&self, site: &Site) -> Vec<String> {
        let own = self.override_of(site).and_then(|own| own.pools.clone());
        let defaults = || self.config.default_pools.clone();
        let mut names = own.unwrap_or_else(|| match site.pools() {
            Some(names) => names.iter().map(|&name| name.to_owned()).collect(),
            None => defaults().unwrap_or_else(|| self.config.pools.keys().cloned().collect()),
        });
        names.sort_unstable();
        names
    }

    /// Checks the parameters of `site` that are known before a call.
    fn check_values(&self, site: &Site) -> Result<(), Invalid> {
        let mut options = self.options_of(site);
        let has_own_ttl = self
            .override_of(site)
            .is_some_and(|own| own.options.ttl.is_some());
        if site.parameters_at_call().contains(&"ttl") && !has_own_ttl {
            // Only the call knows the ttl. Assume the longest ttl, because a value that is invalid with it is invalid
            // with every ttl. Leave out `max_hold` and `once_per`, which have to be above the ttl.
            let longest = u64::try_from(self.config.max_ttl.as_millis()).unwrap_or(u64::MAX);
            options.ttl = Some(Duration::from_millis(longest));
            options.max_hold = None;
            options.once_per = None;
            options.remember = None;
        }
        if options.once_per.is_none() && site.parameters_at_call().contains(&"once_per") {
            options.remember = None;
        }
        let request = options
            .decided(site.skips)
            .request(site.sample_resource())?;
        check_ttl(request.ttl, self.config.max_ttl)?;
        request.check()
    }

    /// Warns of times that were probably meant as seconds. A node may take its `node_timeout` to answer. A call waits
    /// at most a quarter of the ttl for it, and a `wait` has to leave time for another attempt.
    fn warn_of_short_times(&self, of: impl Display, options: LockOptions) {
        let warn = |name, time: Duration, times: u32| {
            if time < self.config.node_timeout.saturating_mul(times) {
                tracing::warn!(
                    target: targets::START,
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
        if let Some(MaxHold::For(time)) = options.max_hold {
            warn("max_hold", time, 4);
        }
    }

    /// Warns of functions that lock one template on different pools, because they do not exclude each other.
    fn warn_of_split_templates(&self) {
        for (index, one) in self.sites.iter().enumerate() {
            let template = one.resource_template();
            let others = self.sites[index + 1..].iter();
            for other in others.filter(|other| other.resource_template() == template) {
                if self.pools_of(one) != self.pools_of(other) {
                    tracing::warn!(
                        target: targets::START, template,
                        "{one} and {other} lock the same resource on different pools: they do not \
                         exclude each other",
                    );
                }
            }
        }
    }
}
