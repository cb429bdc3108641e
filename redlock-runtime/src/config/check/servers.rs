//! Checks the servers of the started nodes: their fitness for locks, and their ACLs.

use std::sync::Arc;

use redlock_core::node::{NodeErrorKind, NodeStatus};
use redlock_core::quorum::majority;
use redlock_core::targets;
use redlock_core::{Node, NodeSet, RedisNode};

use super::CheckedConfig;
use super::values::same_node;
use crate::error::{InitError, Problem, ProblemKind};
use crate::text::shown_text;

/// Refuses unfit servers, two pools on one Cluster, and functions whose commands the ACLs forbid.
pub(crate) fn check_servers(
    checked: &CheckedConfig,
    servers: &[Arc<RedisNode>],
) -> Result<(), InitError> {
    let refused = servers.iter().filter_map(|server| {
        let reason = abstains(&**server, NodeErrorKind::Refused)?;
        Some(Problem::new(ProblemKind::RefusedServer, reason).of_pools([server.name()]))
    });
    let mut problems: Vec<_> = refused.collect();
    for (index, one) in servers.iter().enumerate() {
        let same = servers[..index]
            .iter()
            .filter(|other| one.is_same_cluster(other));
        problems.extend(same.map(|other| same_node(other.name(), one.name(), one.address())));
    }
    check_permissions(checked, servers, &mut problems);
    Problem::none_of(problems, InitError)
}

/// Refuses the start if too many default pools deny the login. Pools deny it if they refuse the login or the database,
/// or if their certificate is not trusted. Without a majority of the other pools no lock could be acquired. For a
/// minority, the log has a warning.
pub(crate) fn check_logins(checked: &CheckedConfig, nodes: &NodeSet) -> Result<(), InitError> {
    let denied = nodes.iter().filter_map(|node| {
        let (name, mut reason) = (node.name(), abstains(&**node, NodeErrorKind::Denied)?);
        if checked.addresses[name].is_own() {
            reason = shown_text(&reason);
        }
        Some((name, format!("{name}: {reason}")))
    });
    let (names, denied): (Vec<_>, Vec<_>) = denied.unzip();
    let needed = majority(nodes.len());
    if nodes.len() - denied.len() >= needed {
        return Ok(());
    }
    let text = format!(
        "{} of {} default pools cannot be used as they are configured, and {needed} have to grant a lock: {}; correct \
         the URLs (a password without a user: redis://:password@host), the servers' ACLs or databases, or the \
         certificates (`tls_ca` names who issued them)",
        denied.len(),
        nodes.len(),
        denied.join("; "),
    );
    let problem = Problem::new(ProblemKind::Denied, text).of_pools(names);
    Err(InitError(vec![problem]))
}

/// Returns why the node abstains, if the reason is of this kind.
fn abstains(node: &dyn Node, kind: NodeErrorKind) -> Option<String> {
    match node.status() {
        NodeStatus::Abstaining(reason) if reason.kind() == kind => Some(reason.to_string()),
        _ => None,
    }
}

/// Refuses each function whose kind of lock needs commands that no majority of its pools allows. Each connection tries
/// the commands that all locks need, but some kinds need more. If only a minority lacks them, the log has a warning.
fn check_permissions(
    checked: &CheckedConfig,
    servers: &[Arc<RedisNode>],
    problems: &mut Vec<Problem>,
) {
    for site in &checked.sites {
        let kinds = checked.options_of(site).decided(false).kinds();
        let Some((_, kind)) = kinds
            .into_iter()
            .find(|(_, kind)| kind.needs_more_commands())
        else {
            continue;
        };
        let names = checked.pools_of(site);
        let mend = |name: &String| {
            let server = servers.iter().find(|server| server.name() == name)?;
            Some((
                server.name(),
                format!("on `{name}`: {}", server.health().mend?),
            ))
        };
        let (lacking, mends): (Vec<_>, Vec<_>) = names.iter().filter_map(mend).unzip();
        if lacking.is_empty() {
            continue;
        }
        let text = format!(
            "{site} takes {kind}, and {} of its {} pools do not allow their user the commands that this needs; run {}",
            lacking.len(),
            names.len(),
            mends.join("; "),
        );
        if names.len() - lacking.len() < majority(names.len()) {
            let problem = Problem::new(ProblemKind::Denied, text);
            problems.push(problem.of_site(site.name()).of_pools(lacking));
        } else {
            tracing::warn!(target: targets::START, "{text}");
        }
    }
}
