//! On which server a waiter looks out for the lock.

use redlock_core::NodeSet;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, wait_until};
use tokio::task::JoinHandle;

use crate::sentinel::fixture::{SOON, calm, client, once, voting};
use crate::sentinel::puppet::{Puppet, url};

/// Waits for a lock, and does not come back before it is told to.
fn wait_for(resource: &str, set: &NodeSet) -> JoinHandle<()> {
    let set = set.clone();
    let request = once(resource)
        .retry_limit(RetryLimit::Forever)
        .retry_delay(SOON * 10);
    tokio::spawn(async move {
        let _ = client().acquire(&set, &request).await;
    })
}

#[tokio::test]
async fn it_is_where_its_node_is_whatever_a_late_sentinel_says() {
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
    let list = || -> String { new.try_command(["CLIENT", "LIST"]).unwrap() };
    let is_told = |list: &String| list.contains("flags=t");
    wait_until("a connection that is told of keys", list, is_told).await;
    waiting.abort();
}
