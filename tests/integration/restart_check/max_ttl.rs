//! Processes of different `max_ttl` on the same servers.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::Node;
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_tests::{RedisNode, eventually};

use crate::restart_check::fixture::{OFTEN, SOON, Set, marker};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A process that has this `max_ttl`, and checks often.
async fn process(node: &RedisNode, max_ttl: Duration) -> Set {
    let set = Set::with([node.url()], RestartCheck::Standard, |options| {
        options.heartbeat = OFTEN;
        options.checked_set = Some(Arc::new(CheckedSet::new(
            RestartCheck::Standard,
            max_ttl,
            1,
        )));
    });
    set.await.voting().await
}

#[tokio::test]
async fn the_longest_max_ttl_counts_when_the_process_that_has_it_is_gone() {
    let node = RedisNode::start().await;
    let short = process(&node, SOON).await;
    let before = marker(&node);
    drop(process(&node, HOUR).await);
    let raised = marker(&node);
    assert_ne!(raised, before);
    assert_eq!(
        (&raised.run_id, raised.until_ms),
        (&before.run_id, before.until_ms)
    );
    let answers = short.nodes[0].health().answers;
    eventually("two checks", SOON, async || {
        let now = short.nodes[0].health().answers;
        (now >= answers + 2)
            .then_some(())
            .ok_or_else(|| format!("{now}"))
    })
    .await;
    assert_eq!(short.nodes[0].epoch(), 0);
    let mut epochs = short.epochs(0);
    node.restart().await;
    let reason = epochs.next().await;
    assert!(reason.contains("within 1 h"), "{reason}");
}
