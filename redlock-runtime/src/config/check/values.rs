//! Checks the settings, pools and defaults, without functions and servers.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use redlock_core::error::Brief;
use redlock_core::restart_check::RestartCheck;

use crate::config::keys::{KeyPath, is_bare};
use crate::config::{Config, PoolAddress, PoolConfig};
use crate::error::{Problem, ProblemKind};
use crate::parameters::check_ttl;
use crate::text::{ShownName, did_you_mean};

/// The longest name of a pool, in bytes. Each error and log line about a node shows the name.
const LONGEST_POOL_NAME: usize = 64;

/// The part of a shutdown's deadline that is kept for the nodes, even if bodies end late.
pub(crate) const CONFIRMING: Duration = Duration::from_millis(200);

impl Config {
    /// Checks all values that need neither the servers nor the annotated functions. Returns the valid addresses of pools.
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) -> BTreeMap<String, PoolAddress> {
        if self.pools.is_empty() {
            problems.push(no_pools());
        }
        let addresses = self.check_pools(problems);
        self.check_settings(|key, why| {
            let problem = Problem::invalid(format!("{key}: {why}"));
            problems.push(problem.at(self.place(key)));
        });
        self.check_default_pools(problems);
        // Cancelled bodies need time to end, and then the nodes to confirm.
        let least = self.shutdown_grace.saturating_add(CONFIRMING * 2);
        if self.shutdown_deadline < least {
            let text = format!(
                "`deadline` in `[shutdown]`: {} is too short; it has to be at least 400 ms longer than `grace`, {}",
                Brief(self.shutdown_deadline),
                Brief(self.shutdown_grace),
            );
            let place = self.place(&KeyPath::new("shutdown", "", "deadline"));
            problems.push(Problem::invalid(text).at(place));
        }
        self.check_defaults(problems);
        addresses
    }

    /// Returns the place where a source sets `key`, or else where its table begins; `None` if code sets it.
    pub(crate) fn place(&self, key: &KeyPath) -> Option<String> {
        let place = self.places.get(key);
        let place = place.or_else(|| self.places.get(&key.sibling("")));
        place.cloned()
    }

    fn check_pools(&self, problems: &mut Vec<Problem>) -> BTreeMap<String, PoolAddress> {
        let mut addresses = BTreeMap::new();
        let mut by_server: BTreeMap<String, &str> = BTreeMap::new();
        let with_url = self.pools.iter().filter(|(_, pool)| pool.url.is_some());
        let with_url: Vec<_> = with_url.map(|(name, _)| name.as_str()).collect();
        for (name, pool) in &self.pools {
            let shown = ShownName(name);
            let place = self.place(&KeyPath::new("pools", name, "url"));
            let mut refuse = |problem: Problem| problems.push(problem.of_pools([&**name]));
            if name.is_empty() || name.len() > LONGEST_POOL_NAME || !is_bare(name) {
                let text = format!(
                    "the pool name `{shown}` is not made of at most 64 letters, digits, `-` and `_`"
                );
                refuse(Problem::invalid(text).at(place.clone()));
            }
            let address = match pool.address() {
                Some(Ok(address)) => address,
                Some(Err(invalid)) => {
                    let text = invalid.to_string();
                    // The text names the key at fault, unless that is `url`.
                    let is_about = |key: &&&'static str| text.contains(&format!("`{key}`"));
                    let key = PoolConfig::KEYS.iter().find(is_about).unwrap_or(&"url");
                    let place = self.place(&KeyPath::new("pools", name, key));
                    let kind = if invalid.is_of_a_file() {
                        ProblemKind::Unreadable
                    } else {
                        ProblemKind::InvalidValue
                    };
                    refuse(Problem::new(kind, format!("pool `{shown}`: {text}")).at(place));
                    continue;
                }
                None => {
                    let text = format!(
                        "there is no `url` for the pool `{shown}`; write it, set it by its variable, or correct the name{}",
                        did_you_mean(name, with_url.iter().copied()),
                    );
                    refuse(Problem::new(ProblemKind::UnknownPool, text).at(place));
                    continue;
                }
            };
            if let Some(server) = address.server()
                && let Some(other) = by_server.insert(server.clone(), name)
            {
                problems.push(same_node(other, name, server).at(place));
            }
            self.check_pool(name, pool, &address, problems);
            addresses.insert(name.clone(), address);
        }
        addresses
    }

    /// Refuses settings that the pool's server cannot obey.
    fn check_pool(
        &self,
        name: &str,
        pool: &PoolConfig,
        address: &PoolAddress,
        problems: &mut Vec<Problem>,
    ) {
        let mut refuse = |key, why| {
            let problem = Problem::invalid(format!("the pool `{}` {why}", ShownName(name)));
            problems.push(problem.at(self.place(&key)).of_pools([name]));
        };
        if pool.trust_aof == Some(true) && !address.is_one_server() {
            refuse(
                KeyPath::new("pools", name, "trust_aof"),
                "has `trust_aof`, which is for one Redis server that no replica replaces: a promoted replica lacks locks that are \
                 in no file, a Redis Cluster has no restart check, and `memory://` has no file; leave `trust_aof` out",
            );
        }
        if pool.replicas.is_some_and(|count| count > 0) && !address.is_server() {
            refuse(
                KeyPath::new("pools", name, "replicas"),
                "has `replicas`, which is for Redis, and no other node has any; leave `replicas` out",
            );
        }
        if address.is_cluster() && self.restart_check == Some(RestartCheck::Strict) {
            refuse(
                KeyPath::new("", "", "restart_check"),
                "is a Redis Cluster, which has no restart check, and `restart_check` is \"strict\"; take independent \
                 servers, or another setting",
            );
        }
    }

    fn check_default_pools(&self, problems: &mut Vec<Problem>) {
        if let Some(names) = &self.default_pools {
            let place = self.place(&KeyPath::new("", "", "default_pools"));
            self.check_pool_names(names, |problem| {
                problems.push(problem.under("`default_pools` ").at(place.clone()));
            });
        }
    }

    /// Refuses an empty list, unknown names, and names that occur twice. The macro checks only literals, and not
    /// constants.
    pub(crate) fn check_pool_names(
        &self,
        names: &[impl AsRef<str>],
        mut refuse: impl FnMut(Problem),
    ) {
        let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
        if names.is_empty() {
            let text = "names no pool; name at least one, or leave the list out";
            refuse(Problem::invalid(text));
        }
        for (index, name) in names.iter().enumerate() {
            let shown = ShownName(name);
            if names[..index].contains(name) {
                let text = format!("names the pool `{shown}` twice; one pool has one vote");
                refuse(Problem::invalid(text).of_pools([*name]));
            } else if !self.pools.is_empty() && !self.pools.contains_key(*name) {
                let configured = self.pools.keys().map(|name| ShownName(name).to_string());
                let configured = configured.collect::<Vec<_>>().join(", ");
                let text = format!(
                    "names the pool `{shown}`, which is not configured; configured: {configured}"
                );
                refuse(Problem::new(ProblemKind::UnknownPool, text).of_pools([*name]));
            }
        }
    }

    /// Checks the defaults of all locks. Refuses parameters that would change the meaning of every lock of the service.
    fn check_defaults(&self, problems: &mut Vec<Problem>) {
        let mut refuse = |key, why: &str| {
            let place = self.place(&KeyPath::new("defaults", "", key));
            problems.push(Problem::invalid(format!("defaults: {why}")).at(place));
        };
        let decided = self.defaults.decided(false);
        let request = decided.request("check".into());
        let checked = request.and_then(|request| {
            check_ttl(request.ttl, self.max_ttl)?;
            request.check()
        });
        if let Err(invalid) = checked {
            refuse("", &invalid.to_string());
        }
        if self.defaults.once_per.is_some() {
            refuse(
                "once_per",
                "`once_per` would let every lock of the service run once in a period; set it for one function, under \
                 `[sites]` or in its attribute",
            );
        }
        for (name, kind) in decided.kinds() {
            let why = format!(
                "`{name}` would make {kind} of every lock of the service, also of those whose bodies rely on being \
                 alone; set it for one function, under `[sites]` or in its attribute"
            );
            refuse(name, &why);
        }
    }
}

/// The end of an error that shows the right form of a pool.
pub(in crate::config) const A_POOL: &str =
    "; write `[pools.a]`, and below it `url = \"redis://host:6379\"`";

pub(in crate::config) fn no_pools() -> Problem {
    let text = format!(
        "no pools are configured, so no lock could be taken{A_POOL}, into redlock.toml in the \
         directory in which the program is started, or set REDLOCK_POOLS_A_URL (`memory://a` for development)"
    );
    Problem::new(ProblemKind::NoPools, text)
}

/// Returns the problem of two pools that are one node, which would vote twice.
pub(super) fn same_node(one: &str, other: &str, server: impl fmt::Display) -> Problem {
    let text = format!(
        "the pools `{}` and `{}` are one server, {server}; each pool has to be an independent \
         node, or a majority means nothing",
        ShownName(one),
        ShownName(other),
    );
    Problem::new(ProblemKind::RefusedServer, text).of_pools([one, other])
}
