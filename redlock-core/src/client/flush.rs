//! A barrier on the nodes.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::env::caught::caught;
use crate::env::timeout::before;
use crate::kinds::exclusive::release;
use crate::model::resource::Resource;
use crate::node::{Call, Node, NodeSet, Reply, Vote};
use crate::quorum::round::{Goal, MOST_NODES, Round};

use super::Client;

impl Client {
    /// Waits until every node has served all operations that were submitted before this call, for at
    /// most `timeout`. Returns the names of the nodes that did not.
    ///
    /// A connection answers its operations in order, so an operation without effect serves as a
    /// barrier: the release of a key that was never locked, which reaches also a node that votes no.
    /// Two barriers are needed: an operation that the first barrier finds answered with `NOSCRIPT` or
    /// with a redirection of a Cluster is sent again after it. Before each barrier, releases that a node answered with errors are tried once more. A node that still does not
    /// serve them is among the returned names.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn flush(&self, nodes: &NodeSet, timeout: Duration) -> Vec<String> {
        let environment = &self.shared.context.environment;
        let until = environment.now().saturating_add(timeout);
        let token = self.shared.context.fresh_token();
        let key = Resource::from("redlock:flush").with_prefix(&self.shared.context.key_prefix);
        let ttl = Duration::from_millis(1);
        let barrier = || release(&key, &token, ttl);
        // Each node by itself, so that a node that hangs takes no time from the others.
        let mut asking: Vec<_> = nodes
            .iter()
            .map(|node| {
                Box::pin(async move {
                    serves(&**node, barrier()).await && serves(&**node, barrier()).await
                })
            })
            .collect();
        let mut served = vec![None; nodes.len()];
        let all = poll_fn(|context| {
            for (asking, served) in asking.iter_mut().zip(&mut served) {
                if served.is_none()
                    && let Poll::Ready(answer) = asking.as_mut().poll(context)
                {
                    *served = Some(answer);
                }
            }
            if served.contains(&None) {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        before(&*environment.clock, until, all).await;
        let unserved = nodes.iter().zip(&served);
        let unserved = unserved.filter(|(_, served)| **served != Some(true));
        unserved.map(|(node, _)| node.name().to_owned()).collect()
    }
}

/// Submits `barrier` on all connections of `node`. True if the node served it on all of them.
async fn serves(node: &dyn Node, barrier: Call) -> bool {
    let barrier = Arc::new(barrier);
    let mut is_served = true;
    for first in (0..node.lanes()).step_by(MOST_NODES) {
        let lanes = MOST_NODES.min(node.lanes().saturating_sub(first));
        let round = Round::new(lanes, Goal::All);
        for lane in 0..lanes {
            let reply = Reply::new(Arc::clone(&round), lane, &barrier);
            let barrier = Arc::clone(&barrier);
            // If the node panics, the dropped reply is its answer.
            caught("a node", || node.submit_on(first + lane, barrier, reply));
        }
        round.decided().await;
        is_served &= round.answers().iter().flatten().all(was_served);
    }
    is_served
}

fn was_served(answer: &Vote) -> bool {
    !matches!(answer, Vote::Failed(_))
}
