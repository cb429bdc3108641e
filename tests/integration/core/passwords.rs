//! Logins with users and passwords, and changes of them while the node runs.

use std::sync::Arc;

use redlock_core::error::AcquireError;
use redlock_core::node::NodeStatus;
use redlock_core::redis::RedisAddress;
use redlock_core::{Node, NodeSet};
use redlock_tests::{NodeOptions, RedisNode, eventually};

use crate::core::fixture::{
    IO, SOON, client, connect, once, patient, until_voting, until_voting_again,
};

#[tokio::test]
async fn a_password_that_changes_ends_no_connection_and_the_next_one_says_so() {
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
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    lease.release().await;

    run(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    until_voting(&set[0], false).await;
    eventually("the reason", SOON, || async {
        match set[0].status() {
            NodeStatus::Abstaining(reason) if reason.to_string().contains("WRONGPASS") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    let error = client().acquire(&set, &once("r")).await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    let error = error.to_string();
    assert!(error.contains("a: WRONGPASS"), "{error}");
    for secret in ["s3cret", "an0ther"] {
        assert!(!error.contains(secret), "{error}");
    }

    run(&["CONFIG", "SET", "requirepass", "s3cret"]);
    until_voting(&set[0], true).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    lease.release().await;
}

#[tokio::test]
async fn a_user_that_is_taken_away_under_a_lease_is_a_reason_and_comes_back() {
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
    eventually("the release that was owed", SOON, || async {
        node.get("r").map_or(Ok(()), |_| Err("still there".into()))
    })
    .await;
}

#[tokio::test]
async fn a_user_without_a_password_logs_in_as_itself() {
    let node = RedisNode::start_with(NodeOptions::default().unix_socket()).await;
    node.command(["ACL", "SETUSER", "me", "on", "nopass", "~*", "+@all"]);
    for url in [
        format!("redis://me@{}", node.addr()),
        format!("{}?user=me", node.unix_url()),
    ] {
        let set = connect([url]).await;
        client()
            .acquire(&set, &once("r"))
            .await
            .unwrap()
            .release()
            .await;
        let clients: String = node.try_command_within(SOON, ["CLIENT", "LIST"]).unwrap();
        let ours = clients.lines().filter(|it| it.contains("resp=3"));
        let ours: Vec<_> = ours.collect();
        assert!(
            !ours.is_empty() && ours.iter().all(|it| it.contains("user=me")),
            "{clients}"
        );
    }
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
    let me = Arc::new(redlock_core::RedisNode::start("a", address, patient(), &IO));
    me.settled().await;
    let set: NodeSet = [me as Arc<dyn Node>].into_iter().collect();
    for (connection, password) in (2..).zip(["second", "third"]) {
        let lease = client().acquire(&set, &once("r")).await.unwrap();
        lease.release().await;
        rotate(password);
        node.command(["CLIENT", "KILL", "USER", "me"]);
        until_voting_again(&set[0], connection).await;
    }
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    lease.release().await;
}
