//! Servers that speak another protocol, are full, old, or replicas.

use redlock_core::Request;
use redlock_core::lease::Released;
use redlock_core::node::NodeErrorKind;
use redlock_tests::{NodeOptions, RedisNode, disguise};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::core::fixture::{
    client, connect, lock_once, once, reason, stand_in_line, until_abstaining, until_voting,
};

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
    until_abstaining(&set[0], "does not speak the Redis protocol").await;
}

#[tokio::test]
async fn without_resp3_a_waiting_caller_asks_after_its_retry_delay() {
    let node = RedisNode::start().await;
    let refusal = "return redis.error_reply('NOPROTO unsupported protocol version')";
    let set = connect([disguise(&node, [("HELLO 3", refusal)]).await]).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    let request = Request::new("r").retry_limit(10_000);
    let waiting = stand_in_line(&client(), &set, &request);
    let waiting = tokio::spawn(waiting);
    assert_eq!(lease.release().await, Released::Confirmed);
    let next = waiting.await.unwrap().unwrap();
    assert_eq!(next.release().await, Released::Confirmed);
}

#[tokio::test]
async fn a_full_server_is_no_wrong_password() {
    let node = RedisNode::start_with(NodeOptions::default().password("s3cret")).await;
    node.command(["CONFIG", "SET", "maxclients", "1"]);
    let other = tokio::net::TcpStream::connect(node.addr()).await.unwrap();
    let set = connect([node.url()]).await;
    let reason = reason(&set[0]).expect("a second client was let in");
    assert_eq!(reason.kind(), NodeErrorKind::NotConnected, "{reason}");
    assert!(
        reason.to_string().contains("max number of clients"),
        "{reason}"
    );
    drop(other);
    until_voting(&set[0], true).await;
}

/// In the words of Redis before 6.0.
const UNKNOWN_HELLO: &str =
    "return redis.error_reply('ERR unknown command `HELLO`, with args beginning with: ')";

#[tokio::test]
async fn a_server_without_hello_is_judged_by_the_version_in_its_info() {
    let options = NodeOptions::default().arg("rename-command", "HELLO ");
    let renames = RedisNode::start_with(options).await;
    let knows_none = RedisNode::start().await;
    for url in [
        renames.url(),
        disguise(&knows_none, [("HELLO", UNKNOWN_HELLO)]).await,
    ] {
        let set = connect([url]).await;
        lock_once(&set).await;
    }
    let old = [
        ("HELLO", UNKNOWN_HELLO),
        ("INFO", "return 'redis_version:5.0.14\\r\\nrole:master'"),
    ];
    let set = connect([disguise(&knows_none, old).await]).await;
    let reason = reason(&set[0]).expect("a server of an old version votes");
    assert!(reason.kind() == NodeErrorKind::Refused, "{reason:?}");
    assert!(reason.to_string().contains("version is 5.0.14"), "{reason}");
}

/// A replica whose master is away answers with MASTERDOWN if it takes writes and has no stale data.
#[tokio::test]
async fn an_answer_of_a_replica_ends_the_connection_to_it() {
    for (read_only, error) in [("yes", "READONLY"), ("no", "MASTERDOWN")] {
        let options = NodeOptions::default().arg("replica-read-only", read_only);
        let node = RedisNode::start_with(options.arg("replica-serve-stale-data", "no")).await;
        let set = connect([node.url()]).await;
        lock_once(&set).await;
        node.command(["REPLICAOF", "127.0.0.1", "1"]);
        client().acquire(&set, &once("r")).await.unwrap_err();
        let answers = node.info(&format!("errorstat_{error}"));
        assert!(answers.is_some(), "no {error}");
        until_voting(&set[0], false).await;
    }
}
