//! The configured nodes, by pool name and by the functions that lock on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use redlock_core::error::Invalid;
use redlock_core::{MemoryNode, Node, NodeSet};

use crate::config::{CheckedConfig, SiteConfig};
use crate::error::LockErrorKind;
use crate::site::{Site, statics};
use crate::text::ShownName;

/// The node of one configured pool.
pub(crate) struct PoolNode {
    pub(crate) node: Arc<dyn Node>,
    /// The same node as `node`, if it is the in-process node of a `memory://` pool.
    pub(crate) memory: Option<MemoryNode>,
}

impl PoolNode {
    /// Wraps an in-process node.
    pub(crate) fn in_memory(node: MemoryNode) -> Self {
        Self {
            node: Arc::new(node.clone()),
            memory: Some(node),
        }
    }
}

/// The pools of a registry.
pub(crate) struct Pools {
    pub(crate) by_name: BTreeMap<String, PoolNode>,
    /// The nodes of a lock that names no pools.
    pub(crate) default_set: NodeSet,
    /// The configuration of a function, and its nodes if it names pools, by the address of its site. The sets are made
    /// once, at the start, so that no call has to make one.
    by_site: BTreeMap<usize, (SiteConfig, Option<NodeSet>)>,
}

impl Pools {
    pub(crate) fn new(by_name: BTreeMap<String, PoolNode>, checked: &CheckedConfig) -> Self {
        let default_set = match &checked.config.default_pools {
            Some(names) => set_of(&by_name, names).unwrap_or_default(),
            None => by_name
                .values()
                .map(|pool| Arc::clone(&pool.node))
                .collect(),
        };
        let mut by_site = BTreeMap::new();
        for site in statics() {
            let over = checked.override_of(site);
            if over.is_none() && site.pools().is_none() {
                continue;
            }
            let over = over.cloned().unwrap_or_default();
            // A function that names an unknown pool gets no set here. Calls of this function return the error.
            let nodes = match (&over.pools, site.pools()) {
                (Some(names), _) => set_of(&by_name, names).ok(),
                (None, Some(names)) => set_of(&by_name, names).ok(),
                (None, None) => None,
            };
            by_site.insert(site.address(), (over, nodes));
        }
        Self {
            by_name,
            default_set,
            by_site,
        }
    }

    /// Returns the configuration of a function. The configuration takes precedence over the attribute.
    pub(crate) fn overriding(&self, site: &'static Site) -> Option<&SiteConfig> {
        self.by_site.get(&site.address()).map(|(over, _)| over)
    }

    /// Returns the nodes of a lock of `site`. The configuration of the function decides first, then the pools that the
    /// lock names, then those of the attribute, then the default pools.
    pub(crate) fn nodes(
        &self,
        site: &'static Site,
        names: Option<&[String]>,
    ) -> Result<NodeSet, LockErrorKind> {
        let known = self.by_site.get(&site.address());
        let known = known.and_then(|(_, nodes)| nodes.as_ref());
        match (known, names, site.pools()) {
            (Some(nodes), _, _) => Ok(Arc::clone(nodes)),
            (None, Some(names), _) => set_of(&self.by_name, names),
            (None, None, Some(names)) => set_of(&self.by_name, names),
            (None, None, None) => Ok(Arc::clone(&self.default_set)),
        }
    }
}

/// Returns the pool names of a node set.
pub(crate) fn pool_names_of(nodes: &NodeSet) -> Vec<String> {
    nodes.iter().map(|node| node.name().to_owned()).collect()
}

/// Returns the nodes of the pools that `names` lists.
///
/// # Errors
/// Fails if the list is empty, names an unknown pool, or names a pool twice: a pool has only one vote.
fn set_of<S: AsRef<str>>(
    pools: &BTreeMap<String, PoolNode>,
    names: &[S],
) -> Result<NodeSet, LockErrorKind> {
    let invalid = |text: String| LockErrorKind::Invalid(Invalid::new(text));
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() {
        let text = "no pools are named; name at least one, or leave `pools` out";
        return Err(invalid(text.to_owned()));
    }
    let nodes = names.iter().enumerate().map(|(index, name)| {
        if names[..index].contains(name) {
            return Err(invalid(format!(
                "the pool `{}` is named twice; one pool has one vote",
                ShownName(name),
            )));
        }
        let pool = pools.get(*name).ok_or_else(|| LockErrorKind::UnknownPool {
            // Mask the name, because it may be a URL with a password in the wrong place.
            pool: ShownName(name).to_string(),
            configured: pools.keys().cloned().collect(),
        })?;
        Ok(Arc::clone(&pool.node))
    });
    nodes.collect()
}
