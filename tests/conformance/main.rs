//! The contract of a node, on nodes of every kind. `redlock-conformance` has the checks.

mod in_memory;
mod one_server;

use std::sync::LazyLock;
use std::time::Duration;

use redlock_core::IoThread;
use redlock_core::redis::RedisOptions;

static IO: LazyLock<IoThread> = LazyLock::new(|| IoThread::start().expect("a thread"));

/// Options by which a server that stands still is given up soon, and one on a busy machine is not.
fn options(max_in_flight: usize) -> RedisOptions {
    let mut options = RedisOptions::default();
    options.suspect_after = Duration::from_secs(1);
    options.dead_after = Duration::from_secs(2);
    options.heartbeat = Duration::from_secs(2);
    options.max_in_flight = max_in_flight;
    options
}
