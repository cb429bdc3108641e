//! What the functions of the program need of the servers' ACLs.

use std::collections::BTreeMap;

use redlock_core::quorum::majority;

use crate::config::Config;
use crate::registry::pools::PoolNode;
use crate::site::Site;

use super::check_sites::{options_of, override_of, pools_of};
use super::overrides::Overridden;

/// Refuses each function whose kind of lock no majority of its pools allows. Every connection tries the commands
/// that all locks need; some kinds need more. If a minority lacks them, the log has a warning.
pub(crate) fn check_permissions(
    config: &Config,
    sites: &[&'static Site],
    overridden: &[Overridden],
    pools: &BTreeMap<String, PoolNode>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for site in sites {
        let own = override_of(overridden, site);
        let kinds = options_of(config, site, own).decided(false).kinds();
        let Some((_, kind)) = kinds
            .into_iter()
            .find(|(_, kind)| kind.needs_more_commands())
        else {
            continue;
        };
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
            "{site} takes {kind}, and {} of its {} pools do not allow their user the commands that this needs; run {}",
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
