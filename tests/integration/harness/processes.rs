//! What is left of the servers when their owner is gone.

use crate::harness::LONG;
use redlock_tests::{Nodes, RedisNode, Service, eventually};
use std::path::Path;

/// A zombie is dead; who reaps an orphan is not ours to decide.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn dropping_a_node_leaves_neither_process_nor_directory() {
    let nodes = Nodes::start(3).await;
    nodes[1].freeze();
    nodes[2].kill();
    let pids: Vec<_> = nodes.iter().map(RedisNode::pid).collect();
    let dirs: Vec<_> = nodes.iter().map(|node| node.dir().to_owned()).collect();
    assert!(is_alive(pids[0]) && is_alive(pids[1]));
    assert!(dirs.iter().all(|dir| dir.exists()));
    drop(nodes);
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
    assert!(!dirs.iter().any(|dir| dir.exists()));
}

/// This test starts itself again as the process that is killed.
#[tokio::test]
async fn a_node_dies_with_a_killed_test_process() {
    const HOST: &str = "REDLOCK_TESTS_HOST_A_NODE";
    if std::env::var_os(HOST).is_some() {
        let node = RedisNode::start().await;
        node.freeze();
        println!("\nnode {} {}", node.pid(), node.dir().display());
        std::future::pending::<()>().await;
    }
    let this = std::env::current_exe().unwrap();
    let name = "harness::processes::a_node_dies_with_a_killed_test_process";
    let args = ["--exact", name, "--nocapture"];
    let host = Service::spawn_with_args(this, args, [(HOST, "1")], "node ").await;
    let (node, dir) = host.ready().split_once(' ').unwrap();
    let node: u32 = node.parse().unwrap();
    assert!(is_alive(node));
    host.kill();
    eventually("the orphan to die", LONG, async || {
        (!is_alive(node))
            .then_some(())
            .ok_or(format!("{node} lives"))
    })
    .await;
    // A killed process cannot tidy up.
    std::fs::remove_dir_all(dir).unwrap();
}
