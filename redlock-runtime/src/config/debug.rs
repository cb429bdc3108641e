//! What `Debug` shows of a configuration.

use std::fmt;

use super::Config;
use crate::text::{Name, NamedMap, Names};

/// Names are shown like those in errors: they may be URLs in the wrong place.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pools,
            pool_settings,
            restart_check,
            default_pools,
            defaults,
            sites,
            key_prefix,
            max_ttl,
            node_timeout,
            connect_timeout,
            handover,
            max_waiting,
            shutdown_grace,
            shutdown_deadline,
            release_on_exit,
            http,
        } = self;
        f.debug_struct("Config")
            .field("pools", &NamedMap(pools))
            .field("pool_settings", &NamedMap(pool_settings))
            .field("restart_check", restart_check)
            .field("default_pools", &default_pools.as_deref().map(Names))
            .field("defaults", defaults)
            .field("sites", sites)
            .field("key_prefix", &Name(key_prefix))
            .field("max_ttl", max_ttl)
            .field("node_timeout", node_timeout)
            .field("connect_timeout", connect_timeout)
            .field("handover", handover)
            .field("max_waiting", max_waiting)
            .field("shutdown_grace", shutdown_grace)
            .field("shutdown_deadline", shutdown_deadline)
            .field("release_on_exit", release_on_exit)
            .field("http", http)
            .finish()
    }
}
