//! The checks of a start, in their order. Each check adds its problems, so one error has all of them.
//!
//! * `values.rs` checks the settings, the pools and the defaults, without functions and servers.
//! * `overrides.rs` finds the function of each `[sites."…"]`.
//! * `sites.rs` checks the pools and parameters of annotated functions, under the configuration.
//! * `servers.rs` runs after the nodes have started. It checks that locks may rely on the servers, and that their ACLs
//!   suffice.

mod overrides;
mod servers;
mod sites;
mod values;

use std::collections::BTreeMap;

use super::{Config, PoolAddress};
use crate::error::{InitError, Problem};
use crate::site::{Site, sites};

pub(crate) use servers::{check_logins, check_servers};
pub(crate) use values::CONFIRMING;
pub(super) use values::{A_POOL, no_pools};

/// A configuration that has passed all checks before the nodes start.
pub(crate) struct CheckedConfig {
    pub(crate) config: Config,
    pub(crate) addresses: BTreeMap<String, PoolAddress>,
    /// The checked functions: all of the program, or those with an override.
    sites: Vec<&'static Site>,
}

impl CheckedConfig {
    /// Checks the configuration, and the functions that it overrides.
    pub(crate) fn new(config: Config) -> Result<Self, InitError> {
        Self::check(config, None)
    }

    /// Checks the configuration, and all functions of the program.
    pub(crate) fn with_all_sites(config: Config) -> Result<Self, InitError> {
        Self::check(config, Some(sites()))
    }

    fn check(config: Config, all: Option<Vec<&'static Site>>) -> Result<Self, InitError> {
        let mut problems = Vec::new();
        let addresses = config.check(&mut problems);
        let mut checked = Self {
            sites: overrides::match_overrides(&config, &mut problems),
            config,
            addresses,
        };
        checked.check_overrides(&mut problems);
        if let Some(all) = all {
            checked.sites = all;
            checked.check_sites(&mut problems);
        }
        Problem::none_of(problems, InitError).map(|()| checked)
    }
}
