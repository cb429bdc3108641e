//! Releases that a server answers with an error.

use std::time::Duration;

use redlock_core::lease::Released;
use redlock_tests::{RedisNode, eventually};

use crate::core::fixture::{SOON, client, once, settle, start};

/// Waits until the key is gone, long before its ttl.
async fn until_released(node: &RedisNode, key: &str) {
    eventually("the release", SOON, || async {
        match node.get(key) {
            None => Ok(()),
            Some(_) => Err(format!("{key} is still there")),
        }
    })
    .await;
}

#[tokio::test]
async fn a_release_that_is_refused_is_repeated_once_the_server_takes_it() {
    let (nodes, set) = start(3).await;
    let setting = ["CONFIG", "SET", "min-replicas-to-write"].map(str::to_owned);
    let user = ["ACL", "SETUSER", "default"].map(str::to_owned);
    let commands = [Some("del"), nodes[0].compare_and_delete()];
    let rules = |sign| {
        let rules = commands.iter().flatten();
        rules.map(move |command| format!("{sign}{command}"))
    };
    let with = |command: &[String], words: Vec<String>| [command, &words].concat();
    let troubles = [
        (
            with(&setting, vec!["1".to_owned()]),
            with(&setting, vec!["0".to_owned()]),
        ),
        (
            with(&user, rules("-").collect()),
            with(&user, rules("+").collect()),
        ),
    ];
    for (trouble, mended) in troubles {
        let mut request = once("r");
        request.ttl = Duration::from_secs(10 * 60);
        let lease = client().acquire(&set, &request).await.unwrap();
        settle(&set).await;
        nodes[0].command(&trouble);
        assert_eq!(lease.release().await, Released::Confirmed);
        assert_eq!(client().flush(&set, SOON).await, ["a"], "{trouble:?}");
        assert!(nodes[0].get("r").is_some());
        nodes[0].command(mended);
        until_released(&nodes[0], "r").await;
        settle(&set).await;
    }
}

#[tokio::test]
async fn a_set_that_is_refused_leaves_nothing_owed() {
    let (nodes, set) = start(1).await;
    nodes[0].command(["CONFIG", "SET", "min-replicas-to-write", "1"]);
    client().acquire(&set, &once("r")).await.unwrap_err();
    settle(&set).await;
    assert_eq!(set[0].health().answers, 3, "the attempt, and two barriers");
}
