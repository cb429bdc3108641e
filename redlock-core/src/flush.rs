//! Waiting until the nodes have served everything that was sent.

use std::sync::Arc;
use std::time::Duration;

use crate::client::NodeSet;
use crate::environment::Environment;
use crate::node::{Answer, NodeErrorKind};
use crate::operation::{Operation, Want};
use crate::race::before;
use crate::round::{Goal, Round};
use crate::token::TokenSource;

/// Waits until every node has served all that was submitted before this call, at most for
/// `timeout`; returns the names of those that did not. An operation is answered after those before
/// it, so one that changes nothing does for a barrier.
///
/// # Cancellation
/// Dropping the future has no effect on the nodes.
pub async fn flush(environment: &Environment, nodes: &NodeSet, timeout: Duration) -> Vec<String> {
    let token = TokenSource::new().fresh(&*environment.entropy);
    let operation = Operation::new("redlock:flush".into(), token, Want::Inspect);
    let round = Round::start(nodes, &Arc::new(operation), Goal::All, |_| true);
    let until = environment.now().saturating_add(timeout);
    before(&*environment.clock, until, round.decided()).await;
    let answers = round.answers();
    let is_served = |answer: &Option<Answer>| match answer {
        // A server that answers with an error has got there all the same.
        Some(Answer::Failed(error)) => error.kind() == NodeErrorKind::Server,
        Some(_) => true,
        None => false,
    };
    let unserved = nodes
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| !is_served(answer));
    unserved.map(|(node, _)| node.name().to_owned()).collect()
}
