//! Waits until the nodes have nothing left to do.

use std::sync::Arc;
use std::time::Duration;

use crate::node::{Node, NodeSet, NodeStatus};
use crate::quorum::majority;

use super::Client;

/// The first pause between two looks. It doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// How long nodes are waited for that may be gone. What they are owed is then left to the ttl.
const PATIENCE: Duration = Duration::from_millis(800);

impl Client {
    /// Waits until every node has served all calls and is owed no release, for at most `timeout`. Returns the names of
    /// the nodes that are not there yet. It is for the end of a process: while callers acquire locks, a node may always
    /// have something to do.
    ///
    /// It gives up sooner, after 800 ms in which a majority is done and each other node has been handed all calls or has
    /// no connection, or in which only nodes that vote no are left.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn flush(&self, nodes: &NodeSet, timeout: Duration) -> Vec<String> {
        let clock = self.shared.context.clock();
        let until = clock.now().saturating_add(timeout);
        let mut last_awaited = clock.now();
        let mut pause = FIRST_PAUSE;
        loop {
            let busy: Vec<_> = nodes.iter().filter(|node| !node.drained()).collect();
            let now = clock.now();
            let is_majority_done = nodes.len() - busy.len() >= majority(nodes.len());
            let is_awaited = |node: &&Arc<dyn Node>| {
                if is_majority_done {
                    !node.dispatched()
                } else {
                    matches!(node.status(), NodeStatus::Voting)
                }
            };
            if busy.iter().any(is_awaited) {
                last_awaited = now;
            }
            let until = until.min(last_awaited.saturating_add(PATIENCE));
            if busy.is_empty() || now >= until {
                return busy.iter().map(|node| node.name().to_owned()).collect();
            }
            clock
                .sleep_until(until.min(now.saturating_add(pause)))
                .await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::env::tasks::by_hand;
    use crate::{MemoryNode, Request};

    const SOON: Duration = Duration::from_secs(15);

    #[test]
    fn what_a_minority_is_owed_is_waited_for_a_moment() {
        let (clock, _tasks, environment) = by_hand();
        let node = |name| MemoryNode::new(name, Arc::clone(&environment.clock));
        let [a, b, c] = ["a", "b", "c"].map(node);
        let nodes = [&a, &b, &c].map(|node| Arc::new(node.clone()) as Arc<dyn Node>);
        let nodes: NodeSet = Arc::new(nodes);
        let client = Client::new(environment.clone());
        let mut context = Context::from_waker(Waker::noop());
        let request = Request::new("r");
        let mut acquiring = pin!(client.acquire(&nodes, &request));
        let Poll::Ready(Ok(lease)) = acquiring.as_mut().poll(&mut context) else {
            panic!("not at once");
        };
        c.cut();
        drop(lease);

        let mut given_up = pin!(client.flush(&nodes, SOON));
        assert!(given_up.as_mut().poll(&mut context).is_pending());
        clock.advance(PATIENCE.saturating_sub(Duration::from_millis(1)));
        assert!(given_up.as_mut().poll(&mut context).is_pending());
        clock.advance(Duration::from_millis(1));
        let left = given_up.as_mut().poll(&mut context);
        assert_eq!(left, Poll::Ready(vec!["c".to_owned()]));

        let mut served = pin!(client.flush(&nodes, SOON));
        assert!(served.as_mut().poll(&mut context).is_pending());
        c.restore();
        clock.advance(FIRST_PAUSE);
        let left = served.as_mut().poll(&mut context);
        assert_eq!(left, Poll::Ready(Vec::new()));
    }
}
