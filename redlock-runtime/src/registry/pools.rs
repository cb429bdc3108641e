//! Nodes by their pools' names.

use std::collections::BTreeMap;
use std::sync::Arc;

use redlock_core::error::Invalid;
use redlock_core::{MemoryNode, Node, NodeSet};

use crate::error::LockErrorKind;
use crate::text::Name;

/// One configured node.
pub(crate) struct Pool {
    pub(crate) node: Arc<dyn Node>,
    /// The same node, if it is an in-process node.
    pub(crate) memory: Option<MemoryNode>,
}

/// The pools of a set.
pub(crate) fn names_of(nodes: &NodeSet) -> Vec<String> {
    nodes.iter().map(|node| node.name().to_owned()).collect()
}

pub(crate) fn set_of<'a>(
    pools: &BTreeMap<String, Pool>,
    names: impl Iterator<Item = &'a str>,
) -> Result<NodeSet, LockErrorKind> {
    let nodes: Result<Vec<_>, _> = names
        .map(|name| match pools.get(name) {
            Some(pool) => Ok(Arc::clone(&pool.node)),
            None => Err(LockErrorKind::UnknownPool {
                // It may be a URL in the wrong place.
                pool: Name(name).to_string(),
                configured: pools.keys().cloned().collect(),
            }),
        })
        .collect();
    match nodes {
        Ok(nodes) if nodes.is_empty() => Err(LockErrorKind::Invalid(Invalid::new(
            "no pools are named; name at least one, or leave `pools` out",
        ))),
        Ok(nodes) => Ok(nodes.into()),
        Err(kind) => Err(kind),
    }
}
