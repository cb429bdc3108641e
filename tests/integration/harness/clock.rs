//! Nodes whose wall clock jumps.

use crate::harness::{HOUR, LONG};
use redlock_tests::{NodeOptions, RedisNode, eventually};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// More than passes between two looks, and less than what the clocks are moved by.
const NEAR: Duration = Duration::from_secs(600);

async fn node_with_movable_clock() -> RedisNode {
    RedisNode::start_with(NodeOptions::default().movable_clock()).await
}

fn assert_near(shown: Duration, expected: Duration) {
    let is_near = shown.abs_diff(expected) < NEAR;
    assert!(is_near, "{shown:?}, not {expected:?}");
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

#[tokio::test]
async fn a_moved_clock_shows_in_the_servers_time() {
    let node = node_with_movable_clock().await;
    assert_near(node.time(), now());
    node.advance_clock(3 * HOUR);
    assert_near(node.time(), now() + 3 * HOUR);
    node.set_back_clock(HOUR);
    assert_near(node.time(), now() + 2 * HOUR);
    node.set_back_clock(10 * HOUR + Duration::from_micros(1));
    assert_near(node.time(), now().saturating_sub(8 * HOUR));
    // A machine's clock stays as it is when a server restarts.
    node.restart().await;
    assert_near(node.time(), now().saturating_sub(8 * HOUR));
}

#[tokio::test]
async fn a_key_is_removed_by_the_server_itself_when_the_clock_jumps_past_its_end() {
    let node = node_with_movable_clock().await;
    node.set("key", "value", Some(HOUR));
    node.advance_clock(2 * HOUR);
    // Nobody asks for the key: this is the server's own cycle, which has a clock of its own.
    eventually("the key to be gone", LONG, async || {
        match node.info("expired_keys").as_deref() {
            Some("1") => Ok(()),
            expired => Err(format!("expired: {expired:?}")),
        }
    })
    .await;
}

#[tokio::test]
#[should_panic(expected = "movable_clock()")]
async fn an_ordinary_nodes_clock_cannot_be_moved() {
    RedisNode::start().await.advance_clock(HOUR);
}
