//! Databases, sockets and prefixes: where a lock's key is, and which clients exclude each other.

use std::time::Duration;

use redlock_runtime::config::RestartCheck;
use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::{Kind, LockOptions};
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{NodeOptions, Nodes, RedisNode, wait_until};

use crate::runtime::fixture::{SOON, registry};

/// A retry delay that never passes in a test: an earlier attempt was woken by the release.
const NEVER: Duration = Duration::from_secs(3600);

async fn start(urls: &[String], prefix: &str) -> Redlock {
    let pools = urls.iter().zip(["a", "b", "c"]);
    let config = Config::new().key_prefix(prefix);
    let config = config.node_timeout(SOON).connect_timeout(SOON);
    let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
    Redlock::start(config).await.unwrap()
}

/// One process holds the lock, another one waits for it and is told of its release.
async fn one_waits_for_the_other(nodes: &[&RedisNode], one: &Redlock, other: &Redlock) {
    let lease = registry(one).scope(lock("r").acquire()).await.unwrap();
    let waiting = lock("r").retry_count(1).retry_delay(NEVER);
    let waiting = registry(other).scope(waiting.acquire());
    let waiting = tokio::spawn(waiting);
    let watched = || {
        let counts = nodes.iter().map(|node| node.info("tracking_clients"));
        counts.flatten().filter(|n| n != "0").count()
    };
    let is_enough = |watched: &usize| *watched > nodes.len() / 2;
    wait_until("a majority to be watched", watched, is_enough).await;
    lease.release().await;
    let next = tokio::time::timeout(SOON, waiting)
        .await
        .expect("a wake-up");
    next.unwrap().unwrap().release().await;
}

async fn excludes(one: &Redlock, other: &Redlock) -> bool {
    let lease = registry(one).scope(lock("r").acquire()).await.unwrap();
    let second = registry(other).scope(lock("r").retry_count(0).acquire());
    let second = second.await;
    lease.release().await;
    match second {
        Ok(lease) => {
            lease.release().await;
            false
        }
        Err(error) => {
            assert!(error.is_contended(), "{error}");
            true
        }
    }
}

#[tokio::test]
async fn processes_meet_at_the_same_prefix_in_the_same_database() {
    let nodes = Nodes::start_with(3, NodeOptions::default().unix_socket()).await;
    let urls: Vec<_> = nodes
        .iter()
        .map(|node| format!("{}/3", node.url()))
        .collect();
    let sockets = nodes.iter().map(|node| format!("{}?db=3", node.unix_url()));
    let sockets: Vec<_> = sockets.collect();
    let one = start(&urls, "shop:").await;
    // The same servers by another way.
    let other = start(&sockets, "shop:").await;
    let all: Vec<_> = nodes.iter().collect();
    one_waits_for_the_other(&all, &one, &other).await;
    one_waits_for_the_other(&all, &other, &one).await;
    assert!(excludes(&one, &other).await);

    let lease = registry(&one).scope(lock("r").fencing().acquire()).await;
    let lease = lease.unwrap();
    for node in &nodes {
        assert!(
            node.info("db0").is_none(),
            "nothing outside of its database"
        );
        assert_eq!(
            node.info("db3").as_deref().map(|it| &it[..5]),
            Some("keys=")
        );
    }
    lease.release().await;
    for redlock in [one, other] {
        redlock.shutdown().await;
    }
}

#[tokio::test]
async fn processes_do_not_meet_at_another_prefix_or_database() {
    let node = RedisNode::start().await;
    let at = |db: u8| [format!("{}/{db}", node.url())];
    let shop = start(&at(0), "shop:").await;
    for stranger in [start(&at(0), "blog:").await, start(&at(1), "shop:").await] {
        assert!(!excludes(&shop, &stranger).await);
        stranger.shutdown().await;
    }
    let lease = registry(&shop).scope(lock("r").fencing().acquire());
    let lease = lease.await.unwrap();
    let keys = node.keys();
    assert!(keys.contains(&b"shop:r".to_vec()), "{keys:?}");
    let own = |key: &Vec<u8>| key.starts_with(b"shop:");
    assert!(keys.iter().all(own), "{keys:?}");
    lease.release().await;
    shop.shutdown().await;
}

#[tokio::test]
async fn a_user_of_the_prefix_alone_is_denied_nothing() {
    let node = RedisNode::start().await;
    let user = ["ACL", "SETUSER", "shop", "on", ">pw", "~shop:*", "+@all"];
    node.command(user);
    node.command(["ACL", "LOG", "RESET"]);
    let urls = [format!("redis://shop:pw@{}", node.addr())];
    let (one, other) = (start(&urls, "shop:").await, start(&urls, "shop:").await);
    one_waits_for_the_other(&[&node], &one, &other).await;
    let denials = node.command(["ACL", "LOG"]);
    assert_eq!(format!("{denials:?}"), "array([])");
}

#[tokio::test]
async fn a_prefix_is_text_and_no_pattern() {
    let node = RedisNode::start().await;
    for prefix in ["*", "{tag}", "a b\n", "%s", "é:"] {
        let (one, other) = (
            start(&[node.url()], prefix).await,
            start(&[node.url()], prefix).await,
        );
        assert!(excludes(&one, &other).await);
        one_waits_for_the_other(&[&node], &one, &other).await;
        for redlock in [one, other] {
            redlock.shutdown().await;
        }
        let are_gone = |keys: &Vec<Vec<u8>>| !keys.iter().any(|key| key.ends_with(b"r"));
        wait_until("the keys to go", || node.keys(), are_gone).await;
    }
}

#[tokio::test]
async fn one_server_under_three_names_says_so_in_each_refusal() {
    let node = RedisNode::start_with(NodeOptions::default().unix_socket()).await;
    // Without `INFO`, `init` cannot tell that the pools are one server.
    let user = ["ACL", "SETUSER", "me", "on", ">pw", "~*", "+@all", "-info"];
    node.command(user);
    let port = node.port();
    let config = Config::new()
        .pool("a", format!("redis://me:pw@127.0.0.1:{port}"))
        .pool("b", format!("redis://me:pw@localhost:{port}"))
        .pool("c", format!("{}?user=me&pass=pw", node.unix_url()))
        .restart_check(RestartCheck::Off)
        .node_timeout(SOON)
        .connect_timeout(SOON);
    let redlock = Redlock::start(config).await.unwrap();
    let fencing = LockOptions::new().fencing(true);
    for (kind, wanted) in [
        ("plain", lock("r")),
        ("several", lock(["r", "s"])),
        ("fenced", lock("r").options(fencing)),
        ("two permits", lock("r").permits(2)),
        ("four permits", lock("r").permits(4)),
        ("writer", lock("r").kind(Kind::Write)),
    ] {
        let refused = registry(&redlock).scope(wanted.acquire()).await;
        let refused = refused.unwrap_err();
        let LockErrorKind::Unavailable(why) = refused.kind() else {
            panic!("{kind}: {refused}");
        };
        assert_eq!((why.granted, why.attempts), (1, 3), "{kind}: {refused}");
        let text = refused.to_string();
        let own = ": this attempt's own key was there already: two pools are one server";
        assert_eq!(text.matches(own).count(), 2, "{kind}: {text}");
    }
    redlock.shutdown().await;
}
