//! Nodes: their data, their faults, their ports.

use crate::harness::{HOUR, LONG, SHORT};
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

fn ping(node: &RedisNode) -> bool {
    node.try_command_within::<String>(LONG, ["PING"]).is_ok()
}

#[tokio::test]
async fn a_key_left_behind_is_named_with_its_node() {
    let nodes = Nodes::start(2).await;
    nodes[1].set("order:42", "token", Some(HOUR));
    nodes[0].set("redlock:marker", "mine", None);
    let failing = catch_unwind(AssertUnwindSafe(|| {
        std::thread::scope(|scope| {
            let check = || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build();
                let checking = nodes.assert_no_lock_keys(Duration::ZERO);
                runtime.unwrap().block_on(checking);
            };
            let failed = scope.spawn(check).join().unwrap_err();
            std::panic::resume_unwind(failed)
        })
    }));
    let message = failing.unwrap_err().downcast::<String>().unwrap();
    for part in ["order:42", "token", "Left(", &nodes[1].port().to_string()] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
    assert!(!message.contains("marker"), "{message}");
    assert!(message.contains(file!()), "{message}");

    nodes[1].del("order:42");
    nodes.assert_no_lock_keys(Duration::ZERO).await;
}

#[tokio::test]
async fn assert_no_keys_waits_for_an_expiry() {
    let nodes = Nodes::start(1).await;
    nodes[0].set("key", "value", Some(SHORT));
    nodes.assert_no_keys(LONG).await;
}

#[tokio::test]
async fn a_frozen_node_can_be_killed_and_stopped() {
    let nodes = Nodes::start(2).await;
    for node in &nodes {
        node.freeze();
    }
    nodes[0].kill();
    nodes[1].stop().await;
    assert!(nodes.iter().all(|node| !node.is_running()));
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let options = NodeOptions::default().arg("no-such-directive", "1");
    let failed = tokio::spawn(RedisNode::start_with(options)).await;
    let message = failed.unwrap_err().into_panic().downcast::<String>();
    let message = message.unwrap();
    assert!(message.contains("no-such-directive"), "{message}");
}

#[tokio::test]
async fn nodes_started_at_once_have_ports_of_their_own() {
    let nodes = Nodes::start(8).await;
    let ports: HashSet<_> = nodes.iter().map(RedisNode::port).collect();
    assert_eq!(ports.len(), 8);
    // Each port is served by the very process that was started for it.
    for node in &nodes {
        assert_eq!(node.info("process_id"), Some(node.pid().to_string()));
    }
}

#[tokio::test]
async fn a_node_outlives_the_thread_that_started_it() {
    let starting = std::thread::spawn(|| RedisNode::start_blocking(NodeOptions::default()));
    let node = starting.join().unwrap();
    // A signal that is bound to the end of that thread would be sent about now.
    let started = Instant::now();
    loop {
        assert!(ping(&node), "{node}");
        if started.elapsed() > SHORT {
            break;
        }
    }
}
