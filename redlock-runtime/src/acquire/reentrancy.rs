//! Lets a call share the lease of a caller that holds the same lock.
#![doc = include_str!("reentrancy.md")]

use std::sync::Arc;

use redlock_core::error::Invalid;
use redlock_core::internal::seat_of;
use redlock_core::request::Kind;
use redlock_core::{Node, NodeSet, Request, Resource};

use crate::lease::chain::{ChainLink, outwards};
use crate::registry::pools::pool_names_of;
use crate::site::Site;

/// Returns the outer lease that `request` shares, if there is one.
///
/// # Errors
/// Returns [`Invalid`] if an outer lease conflicts with the request and cannot serve it. The error names both.
pub(crate) fn outer_holder(
    innermost: Option<&Arc<ChainLink>>,
    site: &'static Site,
    request: &Request,
    nodes: &NodeSet,
) -> Result<Option<Arc<ChainLink>>, Invalid> {
    let mut in_the_way = None;
    let inner = site.name();
    for link in outwards(innermost) {
        // Leases of other registries drop out below, because they are on other nodes.
        if link.lease.is_over() {
            continue;
        }
        let held = link.lease.resource();
        let is_held = |name: &[u8]| held.names().any(|other| other == name);
        let theirs = link.lease.core.nodes();
        let is_theirs = |node: &&Arc<dyn Node>| seat_of(theirs, node).is_some();
        let shared = nodes.iter().filter(is_theirs).count();
        // The same name on other nodes is a different lock.
        if shared == 0 || !request.resource.names().any(is_held) {
            continue;
        }
        let has_all_names = request.resource.names().all(is_held);
        let has_same_nodes = shared == nodes.len() && nodes.len() == theirs.len();
        let kind = link.lease.core.kind();
        let outer = link.lease.site().name();
        let why = if !has_same_nodes {
            format!(
                "`{inner}` wants it on {} and runs below `{outer}`, which holds `{held}` on {}; name the \
                 same pools in both",
                quoted(nodes),
                quoted(theirs),
            )
        } else if !has_all_names {
            let (has, lacks): (Vec<&[u8]>, Vec<_>) =
                request.resource.names().partition(|name| is_held(name));
            let (has, lacks) = (Resource::all(has), Resource::all(lacks));
            format!(
                "`{inner}` runs below `{outer}`, which holds `{has}` of it and not `{lacks}`, and would \
                 wait for itself; lock `{lacks}` in `{outer}` too"
            )
        } else if kind.covers(request.kind) {
            if !request.fencing || link.lease.core.fencing_token().is_some() {
                return Ok(Some(Arc::clone(link)));
            }
            format!(
                "`{inner}` wants a fencing token and runs below `{outer}`, which holds the lock without \
                 one; give `{outer}` `fencing = true`"
            )
        } else if link.lease.kind() == Kind::Read && Kind::Plain.covers(request.kind) {
            // A writer's lease serves every kind but permits, so `kind = "write"` would help.
            format!(
                "`{inner}` wants to be alone and runs below `{outer}`, which only reads; two readers that waited \
                 for each other to leave would wait forever; give `{outer}` `kind = \"write\"`, or call \
                 `{inner}` after it"
            )
        } else {
            format!(
                "`{inner}` wants {} and runs below `{outer}`, which holds {kind} of the same resource, and could \
                 wait for itself; give both the same `permits`, or neither; or call `{inner}` after `{outer}`",
                request.kind,
            )
        };
        // If several leases hold a part, name the outermost one. The others share its lease once it has all names.
        if in_the_way.is_none() || has_same_nodes && !has_all_names {
            in_the_way = Some(why);
        }
    }
    in_the_way.map_or(Ok(None), |why| Err(Invalid::new(why)))
}

/// Returns the pools of a set, each in backticks.
fn quoted(nodes: &NodeSet) -> String {
    format!("`{}`", pool_names_of(nodes).join("`, `"))
}
