//! What is logged of a server that answers and disconnects as managed services do.

use std::time::Duration;

use redlock_core::Node as _;
use redlock_runtime::config::RestartCheck;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{NodeOptions, RedisNode, disguise, eventually, lines};

use crate::SOON;
use crate::nodes::start;

#[tokio::test]
async fn what_a_server_hides_is_logged_once() {
    let lines = lines();
    let node = RedisNode::start().await;
    let unknown = "return redis.error_reply('ERR unknown command')";
    let url = disguise(&node, [("HELLO", unknown), ("INFO", unknown)]).await;
    let (hides, _io) = start("hides", &url, |options| options).await;
    for count in 1..=3 {
        eventually("the next connection", SOON, async || {
            let health = hides.health();
            let is_next = health.is_connected && health.connections == count;
            is_next.then_some(()).ok_or(format!("{health:?}"))
        })
        .await;
        node.command(["CLIENT", "KILL", "TYPE", "normal"]);
    }
    let told = lines.with(&["pool=hides", "WARN", "the server hides facts"]);
    let facts = ["run_id: ", "role: ", "maxmemory_policy: ", "RESP3: "];
    let has_all = |line: &String| facts.iter().all(|fact| line.contains(fact));
    assert!(told.len() == 1 && has_all(&told[0]), "{told:#?}");
    let whole = RedisNode::start().await;
    let (_whole, _io) = start("whole", &whole.url(), |options| options).await;
    assert!(lines.with(&["pool=whole", "hides facts"]).is_empty());
}

/// The server ends connections that are idle for a second, and an operator those with an old token.
#[tokio::test]
async fn idle_timeouts_and_new_tokens_lose_no_lock() {
    const ROUNDS: u64 = 3;
    const TTL: Duration = Duration::from_secs(9);
    let lines = lines();
    let node = RedisNode::start_with(NodeOptions::default().arg("timeout", "1")).await;
    let file = node.dir().join("token");
    let rotate = |token: u64| {
        let rule = format!(">{token}");
        let user = ["ACL", "SETUSER", "me", "reset", "on", &rule, "~*", "+@all"];
        node.command(user);
        std::fs::write(&file, token.to_string()).unwrap();
    };
    rotate(0);
    let config = Config::new()
        .pool("tokens", format!("redis://me@{}", node.addr()))
        .password_file("tokens", &file)
        .connect_timeout(SOON)
        .node_timeout(Duration::from_secs(2))
        .restart_check(RestartCheck::Off);
    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry().clone();
    let connections = || registry.health()[0].node_health.connections;
    let held = lock("token").ttl(TTL).max_hold(Duration::from_secs(3600));
    let outlasted = registry.clone().scope(held.run(async {
        for token in 1..=ROUNDS {
            // The server closes the connection by itself, and the operator then closes the next one.
            let before = connections();
            eventually("an idle connection to end", SOON, async || {
                let now = connections();
                (now > before).then_some(()).ok_or(now.to_string())
            })
            .await;
            rotate(token);
            node.command(["CLIENT", "KILL", "USER", "me"]);
        }
        eventually("a renewal", SOON, async || {
            let left = node.pttl("token").left().unwrap_or_default();
            let is_new = left + Duration::from_secs(1) > TTL;
            is_new.then_some(()).ok_or(format!("{left:?}"))
        })
        .await;
    }));
    outlasted.await.unwrap();
    redlock.shutdown().await;
    assert!(node.get("token").is_none(), "not released");
    let of_it = lines.with(&["tokens"]);
    let bad = |line: &&String| line.contains("ERROR") || line.contains("lost");
    assert_eq!(of_it.iter().find(bad), None);
}
