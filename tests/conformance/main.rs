//! The contract of a node, on nodes of every kind. `redlock-conformance` has the checks.

mod in_memory;
mod masters;
mod one_server;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::{IoThread, Node, RedisNode};

static IO: LazyLock<IoThread> = LazyLock::new(|| IoThread::start().expect("a thread"));

/// So many calls in flight are no bound.
const MANY: usize = 10_000;

/// A node that gives up a server which stands still soon, and none on a busy machine.
async fn node(address: &RedisAddress, max_in_flight: usize) -> Arc<dyn Node> {
    let options = RedisOptions::default()
        .suspect_after(Duration::from_secs(1))
        .dead_after(Duration::from_secs(2))
        .heartbeat(Duration::from_secs(2))
        .max_in_flight(max_in_flight);
    let node = RedisNode::start("node", address.clone(), options, &IO);
    node.wait_until_settled().await;
    Arc::new(node)
}
