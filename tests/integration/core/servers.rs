//! Servers with passwords, sockets and errors of their own.

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_tests::{NodeOptions, Nodes, RedisNode};

use crate::core::fixture::{SOON, client, connect, once, until_voting};

#[tokio::test]
async fn a_password_is_sent_and_a_wrong_one_is_a_reason_without_it() {
    let node = RedisNode::start_with(NodeOptions::default().password("s3cret")).await;
    let set = connect([node.url()]).await;
    client()
        .acquire(&set, &once("r"))
        .await
        .unwrap()
        .release()
        .await;

    let wrong = node.url().replace("s3cret", "wr0ng");
    let without = format!("redis://127.0.0.1:{}", node.port());
    for (url, hint) in [(wrong, "WRONGPASS"), (without, "NOAUTH")] {
        let set = connect([url]).await;
        let error = client()
            .acquire(&set, &once("r"))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(hint), "{error}");
        assert!(
            !error.contains("s3cret") && !error.contains("wr0ng"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_unix_socket_is_a_node_too() {
    let node = RedisNode::start_with(NodeOptions::default().unix_socket()).await;
    let set = connect([node.unix_url()]).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    assert!(node.get("r").is_some());
    assert_eq!(lease.release().await, Released::Confirmed);
}

#[tokio::test]
async fn a_servers_own_error_is_not_mistaken_for_a_held_lock() {
    let nodes = Nodes::start(3).await;
    let set = connect(nodes.urls()).await;
    for node in nodes.iter().take(2) {
        node.command(["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
        node.command(["CONFIG", "SET", "maxmemory", "1"]);
    }
    let error = client().acquire(&set, &once("r")).await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    assert!(error.to_string().contains("a: OOM"), "{error}");
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn what_does_not_speak_redis_votes_no() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let hello = b"SSH-2.0-OpenSSH_9.2\r\n";
            // The client may have hung up already.
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, hello).await;
        }
    });
    let set = connect([url]).await;
    until_voting(&set[0], false).await;
    let error = client()
        .acquire(&set, &once("r"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("does not speak the Redis protocol"),
        "{error}"
    );
}
