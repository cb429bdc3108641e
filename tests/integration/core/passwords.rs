//! Logins with users and passwords, and changes of them while the node runs.

use redlock_core::error::AcquireError;
use redlock_core::redis::RedisAddress;
use redlock_tests::{NodeOptions, RedisNode, wait_until};

use crate::core::fixture::{
    client, connect, connect_to, lock_once, once, patient, until_abstaining, until_voting,
    until_voting_again,
};

#[tokio::test]
async fn a_password_that_changes_is_wrong_from_the_next_connection_on() {
    let node = RedisNode::start_with(NodeOptions::default().password("s3cret")).await;
    let set = connect([node.url()]).await;
    // On a connection of its own, as the harness' are logged in with the old one.
    let mut operator = redlock_tests::redis::Client::open(node.url())
        .unwrap()
        .get_connection()
        .unwrap();
    let mut run = |words: &[&str]| {
        let mut command = redlock_tests::redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.exec(&mut operator).unwrap();
    };
    run(&["CONFIG", "SET", "requirepass", "an0ther"]);
    // Whoever is logged in stays so.
    lock_once(&set).await;

    run(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    until_abstaining(&set[0], "WRONGPASS").await;
    let error = client().acquire(&set, &once("r")).await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    let error = error.to_string();
    assert!(error.contains("a: WRONGPASS"), "{error}");
    for secret in ["s3cret", "an0ther"] {
        assert!(!error.contains(secret), "{error}");
    }

    run(&["CONFIG", "SET", "requirepass", "s3cret"]);
    until_voting(&set[0], true).await;
    lock_once(&set).await;
}

#[tokio::test]
async fn a_user_that_is_taken_away_under_a_lease_comes_back() {
    let node = RedisNode::start().await;
    let grant = ["ACL", "SETUSER", "me", "on", ">pw", "~*", "+@all"];
    node.command(grant);
    let set = connect([format!("redis://me:pw@{}", node.addr())]).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    // Which closes its connections, too.
    node.command(["ACL", "DELUSER", "me"]);
    until_voting(&set[0], false).await;
    drop(lease);
    assert!(node.get("r").is_some(), "nobody may release it");
    node.command(grant);
    until_voting(&set[0], true).await;
    wait_until("the release", || node.get("r"), Option::is_none).await;
}

#[tokio::test]
async fn a_password_in_a_file_is_read_again_at_each_connection() {
    let node = RedisNode::start().await;
    let file = node.dir().join("password");
    let rotate = |password: &str| {
        let rule = format!(">{password}");
        let user = ["ACL", "SETUSER", "me", "reset", "on", &rule, "~*", "+@all"];
        node.command(user);
        std::fs::write(&file, format!("{password}\n")).unwrap();
    };
    let address = RedisAddress::parse(&format!("redis://me@{}", node.addr())).unwrap();
    let missing = address.clone().with_password_file(&file).unwrap_err();
    assert!(
        missing.to_string().contains("no such file or directory"),
        "{missing}"
    );
    rotate("first");
    let address = address.with_password_file(&file).unwrap();
    let set = connect_to([(address, patient())]).await;
    for (connection, password) in (2..).zip(["second", "third"]) {
        lock_once(&set).await;
        rotate(password);
        node.command(["CLIENT", "KILL", "USER", "me"]);
        until_voting_again(&set[0], connection).await;
    }
    lock_once(&set).await;
}
