//! The checks of a start, in the order in which they are made. Each adds to the problems, so that one error has all.
//!
//! * `values.rs`: the settings, the pools and the defaults by themselves.
//! * `overrides.rs`: the function that each `[sites."…"]` is for.
//! * `sites.rs`: pools and values of the annotated functions, as the configuration makes them.
//! * `servers.rs`, once the nodes are started: which servers a lock may rely on, and what they allow.

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

/// A configuration that has passed all checks that need no server.
pub(crate) struct CheckedConfig {
    pub(crate) config: Config,
    pub(crate) addresses: BTreeMap<String, PoolAddress>,
    /// The functions that are checked: all of the program, or those that are overridden.
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
