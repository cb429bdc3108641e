//! Connections to real nodes, for the programs of the harness.

use std::sync::Arc;

use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::{IoThread, Node, NodeSet, RedisNode};

/// Starts a node for each URL, named a, b, c …, and waits until each is connected or known not to be.
pub async fn connect(urls: impl Iterator<Item = String>, io: &IoThread) -> NodeSet {
    let nodes: Vec<_> = urls
        .zip('a'..)
        .map(|(url, name)| {
            let address = RedisAddress::parse(&url).expect("a node's URL");
            let options = RedisOptions::default();
            Arc::new(RedisNode::start(name.to_string(), address, options, io))
        })
        .collect();
    for node in &nodes {
        node.wait_until_settled().await;
    }
    nodes
        .into_iter()
        .map(|node| node as Arc<dyn Node>)
        .collect()
}
