//! Locks that are released together: a node gets their releases in few calls.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::{SOON, client, connect, once, settle, start};

/// Longer than it takes any machine to acquire these locks one after the other.
const TTL: Duration = Duration::from_secs(60 * 60);
const LEASES: usize = 200;

/// The number of script calls that the server served, those with a text included.
fn calls(node: &RedisNode) -> u64 {
    node.calls("evalsha") + node.calls("eval")
}

/// The node's user has the commands that every lock needs, and these.
async fn start_with_a_user_who_may(more: &str) -> (Nodes, NodeSet) {
    let nodes = Nodes::start(1).await;
    let user = "ACL SETUSER locker on >pw ~* resetchannels -@all +set +get +del +pexpire +pttl +evalsha +eval \
                +time +info +hello +select +client";
    nodes[0].command(user.split(' ').chain(more.split_whitespace()));
    let url = nodes[0].url().replace("redis://", "redis://locker:pw@");
    let set = connect([url]).await;
    (nodes, set)
}

#[tokio::test]
async fn locks_that_were_released_in_one_call_are_free_for_what_comes_behind() {
    for more in ["", "+mget"] {
        let (nodes, set) = start_with_a_user_who_may(more).await;
        let client = client();
        // No other client has called a script on this server.
        let a = client.acquire(&set, &once("a")).await.unwrap();
        let b = client.acquire(&set, &once("b")).await.unwrap();
        drop((a, b));
        let again = client.acquire(&set, &once("a")).await;
        drop(again.unwrap_or_else(|error| panic!("with {more:?}: {error}")));
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn locks_that_are_released_together_take_a_node_few_calls() {
    let (nodes, set) = start(3).await;
    let (client, mut leases) = (client(), Vec::new());
    for number in 0..LEASES {
        let request = once(format!("r{number}")).ttl(TTL);
        leases.push(client.acquire(&set, &request).await.unwrap());
    }
    settle(&set).await;
    let before: Vec<_> = nodes.iter().map(calls).collect();
    // The nodes run on the same thread as this test, and see all releases at once.
    drop(leases);
    settle(&set).await;
    for (node, before) in nodes.iter().zip(before) {
        let taken = calls(node) - before;
        assert!((4..=8).contains(&taken), "{taken} calls for {LEASES} locks");
    }
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_lock_that_goes_with_a_forbidden_one_is_not_said_to_be_forbidden() {
    let nodes = Nodes::start(1).await;
    let user = "ACL SETUSER locker on >pw ~mine* ~redlock:* resetchannels +@all";
    nodes[0].command(user.split(' '));
    let url = nodes[0].url().replace("redis://", "redis://locker:pw@");
    let set = connect([url]).await;
    let client = client();
    let (mine, other) = (once("mine").retries(1), once("other"));
    let (mine, other) = tokio::join!(client.acquire(&set, &mine), client.acquire(&set, &other));
    drop(mine.expect("another try, by itself"));
    let refused = other.map(drop).unwrap_err().to_string();
    assert!(!refused.contains("mine"), "{refused}");
    nodes.assert_no_keys(SOON).await;
}
