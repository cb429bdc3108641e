//! Checks of pools that are Redis Clusters.

use std::collections::BTreeMap;

use redlock_core::restart_check::RestartCheck;

use crate::config::{Config, PoolAddress};
use crate::text::Name;

/// What a Cluster cannot be asked to do: its masters carry no marker.
pub(crate) fn problems(config: &Config, pool: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if config.restart_check == Some(RestartCheck::Strict) {
        problems.push(format!(
            "the pool `{}` is a Redis Cluster, which has no restart check, and `restart_check` is \
             \"strict\"; take independent servers, or another setting",
            Name(pool),
        ));
    }
    let settings = config.pool_settings.get(pool);
    if settings.is_some_and(|settings| settings.trust_aof == Some(true)) {
        problems.push(format!(
            "the pool `{}` is a Redis Cluster, which has no restart check, so `trust_aof` has no \
             meaning there; leave it out",
            Name(pool),
        ));
    }
    problems
}

/// Warns where the others are checked.
pub(crate) fn warn_of_unchecked(
    addresses: &BTreeMap<String, PoolAddress>,
    restart_check: RestartCheck,
) {
    let clusters = addresses.iter().filter(|(_, address)| address.is_cluster());
    if restart_check != RestartCheck::Off {
        for (pool, _) in clusters {
            tracing::warn!(
                %pool,
                "a Redis Cluster has no restart check: after a failover it may grant a lock that \
                 it has forgotten",
            );
        }
    }
}

/// Two pools that would vote twice.
pub(crate) fn same_node(one: &str, other: &str, server: &str) -> String {
    format!(
        "the pools `{}` and `{}` are one server, {server}; each pool has to be an independent \
         node, or a majority means nothing",
        Name(one),
        Name(other),
    )
}
