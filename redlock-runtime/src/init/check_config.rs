//! A configuration by itself, before anything is started.

use std::collections::BTreeMap;
use std::time::Duration;

use redlock_core::error::Brief;
use redlock_core::request::{MAX_TTL, MIN_TTL};

use crate::config::{Config, PoolAddress, no_pools};
use crate::registry::check_ttl;
use crate::registry::shutdown::CONFIRMING;
use crate::text::{Name, did_you_mean};

use super::cluster;

/// No timeout is longer: sums of such never overflow.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// In bytes. It is in every error and log line about a node.
const LONGEST_POOL_NAME: usize = 64;

/// Everything about a configuration that needs neither network nor functions.
pub(crate) fn check_config(
    config: &Config,
    problems: &mut Vec<String>,
) -> BTreeMap<String, PoolAddress> {
    if config.pools.is_empty() {
        problems.push(no_pools());
    }
    let mut addresses = BTreeMap::new();
    let mut by_server: BTreeMap<String, &str> = BTreeMap::new();
    for (name, url) in &config.pools {
        if name.is_empty()
            || name.len() > LONGEST_POOL_NAME
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        {
            problems.push(format!(
                "the pool name `{}` is not made of at most 64 letters, digits, `-` and `_`",
                Name(name),
            ));
        }
        let settings = config.pool_settings.get(name).cloned().unwrap_or_default();
        let address = url.address().and_then(|address| {
            let address = address.with_tls(settings.tls)?;
            address.with_password_file(settings.password_file.as_deref())
        });
        match address {
            Ok(address) => {
                if let Some(other) = by_server.insert(address.server(), name) {
                    problems.push(cluster::same_node(other, name, &address.server()));
                }
                if address.is_cluster() {
                    problems.extend(cluster::problems(config, name));
                }
                addresses.insert(name.clone(), address);
            }
            Err(invalid) => problems.push(format!("pool `{}`: {invalid}", Name(name))),
        }
    }
    check_settings(config, &addresses, problems);
    check_default_pools(config, problems);
    if !(MIN_TTL..=MAX_TTL).contains(&config.max_ttl) {
        problems.push(format!(
            "`max_ttl` is not from {} to a year; no lock could have such a ttl",
            Brief(MIN_TTL),
        ));
    }
    if config.key_prefix.len() > redlock_core::request::MAX_RESOURCE_BYTES {
        problems.push("`key_prefix` is longer than 1024 bytes".into());
    }
    let any = redlock_core::Resource::from("check");
    if any.keys_under(config.key_prefix.as_bytes()).is_err() {
        problems.push(
            "`key_prefix` has `redlock:` + `fence:`, `once:`, `permit:`, `readers:`, `intent:` or `turn:` in it, \
             where the library keeps keys of its own; choose another one"
                .into(),
        );
    }
    if config.node_timeout.is_zero() {
        problems.push("`node_timeout` is zero, so no node could ever answer in time".into());
    }
    if config.connect_timeout.is_zero() {
        problems.push("`connect_timeout` is zero, so no node could ever be reached".into());
    }
    // Time for cancelled bodies to end, and then for the nodes to confirm.
    let least = config.shutdown_grace.saturating_add(CONFIRMING * 2);
    if config.shutdown_deadline < least {
        problems.push(format!(
            "`shutdown.deadline` of {} is not 400 ms or more behind the end of `shutdown.grace`, {}",
            Brief(config.shutdown_deadline),
            Brief(config.shutdown_grace),
        ));
    }
    for (name, duration) in [
        ("node_timeout", config.node_timeout),
        ("connect_timeout", config.connect_timeout),
        ("shutdown.grace", config.shutdown_grace),
        ("shutdown.deadline", config.shutdown_deadline),
    ] {
        if duration > LONGEST {
            problems.push(format!(
                "`{name}` is above a day, the longest that is allowed"
            ));
        }
    }
    if !(400..=599).contains(&config.http.contended_status) {
        problems.push(format!(
            "`http.contended_status` is {}, which is no error status; 423, 409 and 429 are",
            config.http.contended_status,
        ));
    }
    check_all_defaults(config, problems);
    addresses
}

/// What there is against the defaults of all locks.
fn check_all_defaults(config: &Config, problems: &mut Vec<String>) {
    if let Err(invalid) = check_defaults(config) {
        problems.push(format!("defaults: {invalid}"));
    }
    check_shared_defaults(config, problems);
}

/// Refuses parameters that would change what every lock of the service means.
fn check_shared_defaults(config: &Config, problems: &mut Vec<String>) {
    if config.defaults.once_per.is_some() {
        problems.push(
            "defaults: `once_per` would let every lock of the service run once in a period; set it for \
             one function, under `[sites]` or in its attribute"
                .into(),
        );
    }
    for (name, kind) in config.defaults.decided(false).kinds() {
        problems.push(format!(
            "defaults: `{name}` would make {kind} of every lock of the service, also of those whose bodies rely on \
             being alone; set it for one function, under `[sites]` or in its attribute"
        ));
    }
}

fn check_default_pools(config: &Config, problems: &mut Vec<String>) {
    if let Some(defaults) = &config.default_pools {
        if defaults.is_empty() {
            problems.push("`default_pools` is empty; name at least one, or leave it out".into());
        }
        for (index, name) in defaults.iter().enumerate() {
            if !config.pools.contains_key(name) {
                problems.push(format!(
                    "`default_pools` names the pool `{}`, which is not configured{}",
                    Name(name),
                    did_you_mean(name, config.pools.keys().map(String::as_str)),
                ));
            }
            if defaults[..index].contains(name) {
                let name = Name(name);
                problems.push(format!("`default_pools` names the pool `{name}` twice"));
            }
        }
    }
}

/// What is said of single pools.
fn check_settings(
    config: &Config,
    addresses: &BTreeMap<String, PoolAddress>,
    problems: &mut Vec<String>,
) {
    problems.extend(config.without_url());
    for (name, settings) in &config.pool_settings {
        let fails_over = addresses.get(name).is_some_and(PoolAddress::fails_over);
        if fails_over && settings.trust_aof == Some(true) {
            problems.push(format!(
                "the pool `{}` has `trust_aof`, but a replica may take the place of its server, and \
                 the locks that the replica lacks are in no file; leave `trust_aof` out",
                Name(name),
            ));
        }
        let is_memory = matches!(addresses.get(name), Some(PoolAddress::Memory(_)));
        if is_memory && settings.trust_aof == Some(true) {
            problems.push(format!(
                "the pool `{}` has `trust_aof`, but it is in the process's memory and has no \
                 append-only file; leave `trust_aof` out",
                Name(name),
            ));
        }
    }
}

/// The values that a lock without a site would have.
fn check_defaults(config: &Config) -> Result<(), redlock_core::error::Invalid> {
    let request = config.defaults.decided(false).request("check".into())?;
    check_ttl(request.ttl, config.max_ttl)?;
    request.check()
}
