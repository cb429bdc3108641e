//! What the functions of the program need of the servers' ACLs.

use std::collections::BTreeMap;

use redlock_core::quorum::majority;

use crate::config::Config;
use crate::registry::pools::Pool;
use crate::site::Site;

use super::check_sites::{options_of, override_of, pools_of};
use super::overrides::Overridden;

/// Refuses each function with a `mode` that no majority of its pools allows. Every connection tries the commands
/// that all locks need; only readers and writers need more. If a minority lacks them, the log has a warning.
pub(crate) fn check_permissions(
    config: &Config,
    sites: &[&'static Site],
    overridden: &[Overridden],
    pools: &BTreeMap<String, Pool>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for site in sites {
        let own = override_of(overridden, site);
        if options_of(config, site, own).mode.is_none() {
            continue;
        }
        let names = pools_of(config, site, own);
        let mend = |name: &String| {
            let node = &pools.get(name)?.node;
            Some(format!("on `{name}`: {}", node.health().mend?))
        };
        let lacking: Vec<_> = names.iter().filter_map(mend).collect();
        if lacking.is_empty() {
            continue;
        }
        let text = format!(
            "{site} has a `mode`, and {} of its {} pools do not allow their user the commands of readers and \
             writers; run {}",
            lacking.len(),
            names.len(),
            lacking.join("; "),
        );
        if names.len() - lacking.len() < majority(names.len()) {
            problems.push(text);
        } else {
            tracing::warn!("{text}");
        }
    }
    problems
}
