//! The network's faults.

use crate::harness::{LONG, SHORT, refused};
use redlock_tests::{NodeOptions, Proxy, RedisNode, eventually};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const PING: &[u8] = b"PING\r\n";
const PONG: &[u8] = b"+PONG\r\n";

/// A client that says nothing on its own, unlike a library's.
struct RawClient(TcpStream);

impl RawClient {
    async fn connect(proxy: &Proxy) -> Self {
        Self(TcpStream::connect(proxy.addr()).await.unwrap())
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Empty when the connection was closed.
    async fn receive(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        match timeout(LONG, self.0.read_exact(&mut bytes)).await.unwrap() {
            Ok(_) => bytes,
            Err(_) => Vec::new(),
        }
    }

    async fn hears_nothing(&mut self) -> bool {
        timeout(SHORT, self.0.read_u8()).await.is_err()
    }
}

/// Waits until the proxy has thrown something away.
async fn until_swallowed(proxy: &Proxy) {
    eventually("a loss", LONG, async || match proxy.losses() {
        0 => Err("nothing is lost".to_owned()),
        _ => Ok(()),
    })
    .await;
}

/// Waits until the node was told to set the key.
async fn until_set(node: &RedisNode) {
    eventually("the SET", LONG, async || match node.get("key") {
        Some(value) if value == b"value" => Ok(()),
        other => Err(format!("the key is {other:?}")),
    })
    .await;
}

#[tokio::test]
async fn a_proxy_passes_everything_on() {
    let node = RedisNode::start_with(NodeOptions::default().password("secret")).await;
    let proxy = Proxy::start(&node).await;
    let client = redis::Client::open(proxy.url()).unwrap();
    let mut connection = client.get_connection_with_timeout(LONG).unwrap();
    let value = vec![7_u8; 1 << 20];
    let mut set = redis::cmd("SET");
    set.arg("key").arg(&value).exec(&mut connection).unwrap();
    let answer: Vec<u8> = redis::cmd("GET").arg("key").query(&mut connection).unwrap();
    assert!(answer == value);
    assert!(node.get("key") == Some(value));
}

#[tokio::test]
async fn a_cut_proxy_closes_connections_and_refuses_new_ones() {
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    let mut client = RawClient::connect(&proxy).await;
    client.send(PING).await;
    assert_eq!(client.receive(PONG.len()).await, PONG);

    proxy.cut().await;
    assert_eq!(client.receive(1).await, b"");
    assert!(refused(proxy.addr()).await);
    proxy.cut().await;

    for _ in 0..2 {
        proxy.restore().await;
        let mut client = RawClient::connect(&proxy).await;
        client.send(PING).await;
        assert_eq!(client.receive(PONG.len()).await, PONG);
    }
}

#[tokio::test]
async fn a_severed_proxy_accepts_new_connections() {
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    let mut client = RawClient::connect(&proxy).await;
    client.send(PING).await;
    assert_eq!(client.receive(PONG.len()).await, PONG);
    proxy.sever().await;
    assert_eq!(client.receive(1).await, b"");
    let mut client = RawClient::connect(&proxy).await;
    client.send(PING).await;
    assert_eq!(client.receive(PONG.len()).await, PONG);
}

#[tokio::test]
async fn swallowed_requests_never_reach_the_node() {
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    let mut client = RawClient::connect(&proxy).await;
    let mut idle = RawClient::connect(&proxy).await;
    idle.send(PING).await;
    assert_eq!(idle.receive(PONG.len()).await, PONG);

    proxy.swallow_to_server();
    client.send(b"SET key value\r\n").await;
    until_swallowed(&proxy).await;
    assert!(client.hears_nothing().await);
    assert_eq!(node.get("key"), None);

    proxy.restore().await;
    // What was swallowed does not come back, so that the connection cannot, either.
    assert_eq!(client.receive(1).await, b"");
    assert_eq!(node.get("key"), None);
    // A connection that lost nothing goes on.
    idle.send(PING).await;
    assert_eq!(idle.receive(PONG.len()).await, PONG);
}

#[tokio::test]
async fn swallowed_answers_belong_to_requests_that_were_carried_out() {
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    proxy.swallow_to_client();
    let mut client = RawClient::connect(&proxy).await;
    client.send(b"SET key value\r\n").await;
    until_set(&node).await;
    until_swallowed(&proxy).await;
    assert!(client.hears_nothing().await);
    proxy.restore().await;
    assert_eq!(client.receive(1).await, b"");
}

#[tokio::test]
async fn held_requests_arrive_late_even_from_a_client_that_is_gone() {
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    let mut gone = RawClient::connect(&proxy).await;
    let mut waiting = RawClient::connect(&proxy).await;
    proxy.hold_to_server();
    gone.send(b"SET key value\r\n").await;
    drop(gone);
    waiting.send(PING).await;
    assert!(waiting.hears_nothing().await);
    assert_eq!(node.get("key"), None);

    proxy.restore().await;
    assert_eq!(waiting.receive(PONG.len()).await, PONG);
    until_set(&node).await;
}

#[tokio::test]
async fn held_answers_arrive_in_the_end() {
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    let mut client = RawClient::connect(&proxy).await;
    proxy.hold_to_client();
    client.send(b"SET key value\r\n").await;
    until_set(&node).await;
    assert!(client.hears_nothing().await);
    proxy.restore().await;
    assert_eq!(client.receive(5).await, b"+OK\r\n");
}

#[tokio::test]
async fn a_delay_is_added_each_way_and_does_not_add_up() {
    // One after the other, twenty of them take twenty times as long: far more than a slow machine
    // adds to what they take side by side.
    const EACH_WAY: Duration = Duration::from_secs(1);
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    let mut client = RawClient::connect(&proxy).await;
    proxy.delay(EACH_WAY);
    let started = Instant::now();
    for _ in 0..20 {
        client.send(PING).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(client.receive(20 * PONG.len()).await, PONG.repeat(20));
    let elapsed = started.elapsed();
    assert!(elapsed >= 2 * EACH_WAY, "{elapsed:?}");
    assert!(elapsed < 20 * EACH_WAY, "{elapsed:?}");
}

#[tokio::test]
async fn a_dropped_proxy_closes_its_connections_and_port() {
    let node = RedisNode::start().await;
    let proxy = Proxy::start(&node).await;
    let mut client = RawClient::connect(&proxy).await;
    client.send(PING).await;
    assert_eq!(client.receive(PONG.len()).await, PONG);
    let addr = proxy.addr();
    drop(proxy);
    assert_eq!(client.receive(1).await, b"");
    eventually("the port to be closed", LONG, async || {
        refused(addr)
            .await
            .then_some(())
            .ok_or("still accepts".into())
    })
    .await;
}
