//! On which server a waiter looks out for the lock.

use redlock_core::NodeSet;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, RedisNode, eventually};
use tokio::task::JoinHandle;

use crate::sentinel::fixture::{SOON, calm, client, once, voting};
use crate::sentinel::puppet::{Puppet, url};

/// Waits for a lock, and does not come back before it is told to.
fn wait_for(resource: &str, set: &NodeSet) -> JoinHandle<()> {
    let set = set.clone();
    let mut request = once(resource);
    request.retry.limit = RetryLimit::Forever;
    request.retry.delay = SOON * 10;
    tokio::spawn(async move {
        let _ = client().acquire(&set, &request).await;
    })
}

/// Whether a connection of the server is told of keys.
fn is_looked_out(node: &RedisNode) -> Result<bool, String> {
    let list: Result<String, _> = node.try_command(["CLIENT", "LIST"]);
    let list = list.map_err(|error| error.to_string())?;
    Ok(list.lines().any(|line| line.contains("flags=t")))
}

async fn until_looked_out(node: &RedisNode) {
    eventually("a connection that is told of keys", SOON, async || {
        is_looked_out(node)?
            .then_some(())
            .ok_or("there is none".to_owned())
    })
    .await;
}

#[tokio::test]
async fn it_is_where_its_node_is_whatever_a_sentinel_says_that_is_late() {
    let nodes = Nodes::start(2).await;
    let (old, new) = (&nodes[0], &nodes[1]);
    for node in [old, new] {
        node.set("r", "another", None);
    }
    let sentinel = Puppet::start(new).await;
    sentinel.name(new, 2);
    let set = voting(url([&sentinel]), calm()).await;
    // The sentinel that is asked next has not heard of the failover.
    sentinel.name(old, 1);
    let waiting = wait_for("r", &set);
    until_looked_out(new).await;
    waiting.abort();
}
