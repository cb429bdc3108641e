//! The network's faults.

use crate::harness::{LONG, refused};
use redlock_tests::{Proxy, RedisNode, eventually};
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
