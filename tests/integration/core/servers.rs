//! Servers with passwords, sockets and errors of their own.

use redlock_core::Request;
use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::core::fixture::{SOON, client, connect, once, stand_in_line, until_voting};

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
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let hello = b"SSH-2.0-OpenSSH_9.2\r\n";
            // The client may have hung up already.
            let _ = stream.write_all(hello).await;
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

/// The URL of a proxy before `node` that knows no RESP3.
async fn without_resp3(node: &RedisNode) -> String {
    let (listener, target) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), node.addr());
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut greeting = vec![0; 4096];
                let read = client.read(&mut greeting).await?;
                let greeting = &greeting[..read];
                if String::from_utf8_lossy(greeting).contains("HELLO\r\n$1\r\n3\r\n") {
                    let refusal = "-NOPROTO unsupported protocol version\r\n".repeat(8);
                    client.write_all(refusal.as_bytes()).await?;
                    return client.read(&mut [0]).await.map(drop);
                }
                let mut server = TcpStream::connect(target).await?;
                server.write_all(greeting).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            });
        }
    });
    url
}

#[tokio::test]
async fn without_resp3_a_waiting_caller_asks_after_its_retry_delay() {
    let node = RedisNode::start().await;
    let set = connect([without_resp3(&node).await]).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    let request = Request::new("r").retries(10_000);
    let waiting = stand_in_line(&client(), &set, &request);
    let waiting = tokio::spawn(waiting);
    assert_eq!(lease.release().await, Released::Confirmed);
    let next = waiting.await.unwrap().unwrap();
    assert_eq!(next.release().await, Released::Confirmed);
}
