//! Servers that a pool finds by name, and what becomes of the pool when the name changes, leads to several servers, or
//! cannot be looked up. In a program of its own: each test decides what names lead to, and has a process for that.

mod moves;
mod several;
mod unanswered;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use redlock_runtime::error::LockError;
use redlock_runtime::health::NodeStatus;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{Config, Lease, Redlock, lock};
use redlock_tests::{NodeOptions, RedisNode, eventually};

/// How long a test waits for something that takes milliseconds, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// The name of the pool's server.
const NAME: &str = "redis.test";

const LOW: Ipv4Addr = Ipv4Addr::LOCALHOST;
const HIGH: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Starts two independent servers with the addresses [`LOW`] and [`HIGH`], and one port.
async fn low_and_high(options: NodeOptions) -> (RedisNode, RedisNode) {
    let low = RedisNode::start_with(options.clone().addresses([LOW])).await;
    let beside = options.addresses([HIGH]).port_of(&low);
    let high = RedisNode::start_with(beside).await;
    (low, high)
}

fn ip(node: &RedisNode) -> IpAddr {
    node.addr().ip()
}

/// The pool `a`, whose server has the name [`NAME`] and the port of `node`. A refusal is an answer and not a wait, and a
/// busy machine is no slow node.
fn config(node: &RedisNode) -> Config {
    Config::new()
        .defaults(LockOptions::new().retry_count(0))
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .pool("a", format!("redis://{NAME}:{}", node.port()))
}

async fn acquire(redlock: &Redlock) -> Result<Lease, LockError> {
    let registry = redlock.registry().clone();
    registry.scope(lock("r").acquire()).await
}

async fn until_locked(redlock: &Redlock) -> Lease {
    eventually("a lock", SOON, async || {
        acquire(redlock).await.map_err(|error| error.to_string())
    })
    .await
}

fn status(redlock: &Redlock) -> NodeStatus {
    redlock.registry().health().swap_remove(0).status
}
