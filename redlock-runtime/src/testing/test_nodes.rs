//! The nodes of a test, and their keys.

use std::collections::{BTreeMap, BTreeSet};

use redlock_core::node::Holding;
use redlock_core::request::RESERVED_PREFIX;
use redlock_core::{MemoryNode, Resource};

use crate::config::Config;
use crate::site::sites;

/// The nodes of a test.
pub(super) struct TestNodes {
    pub(super) by_pool: BTreeMap<String, MemoryNode>,
    pub(super) key_prefix: Vec<u8>,
}

impl TestNodes {
    /// Returns the node of a pool.
    #[track_caller]
    pub(super) fn of(&self, pool: &str) -> &MemoryNode {
        // A `let` instead of a closure, so that the panic names the caller's line.
        let Some(node) = self.by_pool.get(pool) else {
            let names: Vec<_> = self.by_pool.keys().map(String::as_str).collect();
            panic!("there is no pool `{pool}`; there are {}", names.join(", "));
        };
        node
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &MemoryNode> {
        self.by_pool.values()
    }

    /// Returns the keys of `resource` on the nodes, with the configured prefix.
    pub(super) fn keys_of(&self, resource: &Resource) -> Resource {
        resource.with_prefix(&self.key_prefix)
    }

    pub(super) fn delete(&self, keys: &Resource) {
        for node in self.iter() {
            keys.names().for_each(|key| node.delete(key));
        }
    }

    pub(super) fn delete_all(&self) {
        for node in self.iter() {
            node.keys().iter().for_each(|key| node.delete(key));
        }
    }

    /// Formats the holder, the name and the pools of each lock whose key `is_wanted`.
    pub(super) fn show_locks(&self, is_wanted: impl Fn(&[u8]) -> bool) -> String {
        let keys: BTreeSet<Vec<u8>> = self.iter().flat_map(MemoryNode::keys).collect();
        let keys = keys.iter();
        let locks = keys.filter(|key| !self.is_auxiliary(key) && is_wanted(key));
        let shown = locks.map(|key| {
            let nodes = self.by_pool.iter();
            let (pools, values): (Vec<_>, Vec<_>) = nodes
                .filter_map(|(pool, node)| Some((pool.as_str(), node.get(key)?)))
                .unzip();
            let holding = values.into_iter().next().map(Holding::by);
            let owner = holding.as_ref().and_then(Holding::owner);
            format!(
                "{} has `{}` on {}",
                owner.unwrap_or("somebody"),
                Resource::all([key]),
                pools.join(", "),
            )
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// True if `key` belongs to the library, and is not the key of a lock.
    fn is_auxiliary(&self, key: &[u8]) -> bool {
        let own = key.strip_prefix(&*self.key_prefix);
        // A permit is a lock, although its key has the reserved prefix.
        own.and_then(|own| own.strip_prefix(RESERVED_PREFIX))
            .is_some_and(|own| !own.starts_with(b"permit:"))
    }
}

/// Replaces the servers of `config` by in-process nodes.
pub(super) fn in_memory(mut config: Config) -> Config {
    // Drop the pools' URLs and settings, because a test may lack the variables in them.
    let pools = std::mem::take(&mut config.pools);
    let mut names: BTreeSet<String> = pools.into_keys().collect();
    if names.is_empty() {
        let defaults = || ["a", "b", "c"].map(str::to_owned).into();
        let defaults = config.default_pools.get_or_insert_with(defaults);
        names.extend(defaults.iter().cloned());
        for site in sites() {
            let of_site = site.pools().unwrap_or_default();
            names.extend(of_site.iter().map(|&name| name.to_owned()));
        }
    }
    for name in names {
        let url = format!("memory://{name}");
        config = config.pool(name, url);
    }
    // Drop the settings of functions that the test program lacks, because they have no effect here.
    let names: BTreeSet<_> = sites().iter().map(|site| site.name()).collect();
    config.sites.retain(|name, _| names.contains(name.as_str()));
    config
}
