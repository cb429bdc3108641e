//! Nodes: their data, their faults, their ports.

use crate::harness::{HOUR, LONG, SHORT, refused};
use redlock_tests::redis::Value;
use redlock_tests::{NodeOptions, Nodes, Pttl, RedisNode};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

fn ping(node: &RedisNode) -> bool {
    node.try_command_within::<String>(LONG, ["PING"]).is_ok()
}

#[tokio::test]
async fn three_nodes_are_independent_servers() {
    let nodes = Nodes::start(3).await;
    assert_eq!(nodes.len(), 3);
    let run_ids: HashSet<_> = nodes.iter().map(|node| node.info("run_id")).collect();
    assert_eq!(run_ids.len(), 3);

    nodes[0].set("key", "zero", Some(HOUR));
    nodes[1].set(b"\x00\xff", b"\x01", None);
    assert_eq!(nodes[0].get("key"), Some(b"zero".to_vec()));
    assert_eq!(nodes.values_of("key"), [Some(b"zero".to_vec()), None, None]);
    let left = nodes[0].pttl("key").left().unwrap();
    assert!(left <= HOUR && left > HOUR / 2, "{left:?}");
    assert_eq!(nodes[1].pttl(b"\x00\xff"), Pttl::NoExpiry);
    assert_eq!(nodes[2].pttl("key"), Pttl::Missing);
    assert_eq!(nodes.all_keys(), [b"\x00\xff".to_vec(), b"key".to_vec()]);

    assert!(nodes[0].del("key"));
    assert!(!nodes[0].del("key"));
    nodes[1].flushall();
    nodes.assert_no_keys(Duration::ZERO).await;
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
async fn a_frozen_node_does_not_answer_until_it_is_thawed() {
    let node = RedisNode::start().await;
    assert!(ping(&node));
    node.freeze();
    assert!(node.is_running() && !node.is_reachable());
    let error = node.try_command_within::<Value>(SHORT, ["PING"]);
    assert!(error.unwrap_err().is_timeout());
    node.thaw();
    assert!(node.is_reachable());
    assert_eq!(node.command(["PING"]), Value::SimpleString("PONG".into()));
}

#[tokio::test]
async fn a_killed_node_refuses_connections() {
    let node = RedisNode::start().await;
    node.kill();
    assert!(!node.is_running());
    assert!(refused(node.addr()).await);
    assert!(!ping(&node));
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
async fn a_restarted_node_is_empty_and_has_its_old_port() {
    let node = RedisNode::start().await;
    node.set("key", "value", None);
    let (addr, pid) = (node.addr(), node.pid());
    node.kill();
    node.restart().await;
    assert_eq!(node.addr(), addr);
    assert_ne!(node.pid(), pid);
    assert_eq!(node.get("key"), None);

    node.set("key", "value", None);
    node.stop().await;
    node.restart().await;
    assert_eq!(node.get("key"), None);

    // If the node is up, stopping and starting is one step.
    node.set("key", "value", None);
    node.restart().await;
    assert_eq!(node.get("key"), None);
}

#[tokio::test]
async fn an_append_only_node_keeps_its_data() {
    let node = RedisNode::start_with(NodeOptions::default().append_only()).await;
    node.set("key", "value", None);
    node.kill();
    node.restart().await;
    assert_eq!(node.get("key"), Some(b"value".to_vec()));
}

#[tokio::test]
async fn options_reach_the_server() {
    let options = NodeOptions::default()
        .password("secret")
        .max_memory("64mb", "allkeys-lru")
        .unix_socket()
        .arg("save", "3600 1");
    let node = RedisNode::start_with(options).await;
    assert!(node.url().starts_with("redis://:secret@127.0.0.1:"));
    let config = |name| {
        let answer: Vec<String> = node.try_command(["CONFIG", "GET", name]).unwrap();
        answer[1].clone()
    };
    assert_eq!(config("maxmemory"), (64 << 20).to_string());
    assert_eq!(config("maxmemory-policy"), "allkeys-lru");
    assert_eq!(config("save"), "3600 1");

    let client = redis::Client::open(node.unix_url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    let pong: String = redis::cmd("PING").query(&mut connection).unwrap();
    assert_eq!(pong, "PONG");
}

#[tokio::test]
async fn a_flushed_script_is_gone() {
    let node = RedisNode::start().await;
    let sha: String = node.try_command(["SCRIPT", "LOAD", "return 1"]).unwrap();
    assert_eq!(node.command(["EVALSHA", &sha, "0"]), Value::Int(1));
    node.script_flush();
    let error = node.try_command::<Value>(["EVALSHA", &sha, "0"]);
    assert_eq!(error.unwrap_err().code(), Some("NOSCRIPT"));
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
