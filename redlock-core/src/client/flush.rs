//! Waits until the nodes have served all calls and owed releases.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Clock;
use crate::node::{Node, NodeSet, NodeStatus};
use crate::process::is_forked;
use crate::quorum::majority;

/// The first pause between two looks at the nodes. Each pause doubles, up to [`LONGEST_LOOK_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_LOOK_PAUSE: Duration = Duration::from_millis(20);
/// The time to wait for nodes that may be gone. After that, the keys of released locks may live there until their ttl.
const FLUSH_PATIENCE: Duration = Duration::from_millis(800);

/// See [`Client::flush`](super::Client::flush).
pub(super) async fn flush(clock: &dyn Clock, nodes: &NodeSet, timeout: Duration) -> Vec<String> {
    if is_forked() {
        return nodes.iter().map(|node| node.name().to_owned()).collect();
    }
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
        let until = until.min(last_awaited.saturating_add(FLUSH_PATIENCE));
        if busy.is_empty() || now >= until {
            return busy.iter().map(|node| node.name().to_owned()).collect();
        }
        clock
            .sleep_until(until.min(now.saturating_add(pause)))
            .await;
        pause = (pause * 2).min(LONGEST_LOOK_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;
    use crate::waiting::tests::{MS, SECOND, Scene, once, poll};

    #[test]
    fn what_a_minority_is_owed_is_waited_for_a_moment() {
        let scene = Scene::new();
        let lease = scene.acquired(&once());
        scene.nodes[2].cut();
        drop(lease);

        let mut given_up = Box::pin(scene.client.flush(&scene.set, SECOND * 15));
        assert!(poll(&mut given_up).is_pending());
        scene.clock.advance(FLUSH_PATIENCE.saturating_sub(MS));
        assert!(poll(&mut given_up).is_pending());
        scene.clock.advance(MS);
        assert_eq!(poll(&mut given_up), Poll::Ready(vec!["c".to_owned()]));

        let mut served = Box::pin(scene.client.flush(&scene.set, SECOND * 15));
        assert!(poll(&mut served).is_pending());
        scene.nodes[2].restore();
        scene.clock.advance(FIRST_PAUSE);
        assert_eq!(poll(&mut served), Poll::Ready(Vec::new()));
    }
}
