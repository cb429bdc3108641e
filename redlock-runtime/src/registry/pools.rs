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

/// The nodes of these pools.
///
/// # Errors
/// If there are none, if one is not configured, or if one is named twice: it would vote twice.
pub(crate) fn set_of<'a>(
    pools: &BTreeMap<String, Pool>,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<NodeSet, LockErrorKind> {
    let invalid = |text: String| LockErrorKind::Invalid(Invalid::new(text));
    let mut known: Vec<&str> = Vec::new();
    let mut nodes = Vec::new();
    for name in names {
        if known.contains(&name) {
            return Err(invalid(format!(
                "the pool `{}` is named twice; one pool has one vote",
                Name(name),
            )));
        }
        let Some(pool) = pools.get(name) else {
            return Err(LockErrorKind::UnknownPool {
                // It may be a URL in the wrong place.
                pool: Name(name).to_string(),
                configured: pools.keys().cloned().collect(),
            });
        };
        known.push(name);
        nodes.push(Arc::clone(&pool.node));
    }
    if nodes.is_empty() {
        let text = "no pools are named; name at least one, or leave `pools` out";
        return Err(invalid(text.to_owned()));
    }
    Ok(nodes.into())
}
