//! Servers with TLS that are slow, frozen, gone, or silent.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use redlock_core::lease::Released;
use redlock_core::{Node, NodeSet, RedisNode, Request};
use redlock_tests::{Authority, NodeOptions, Nodes};
use tokio::io::AsyncReadExt as _;

use crate::core::fixture::{IO, calm, client_with_timeout, until_abstaining};
use crate::tls::fixture::{SOON, address, connect, lock_once, trusting, until_voting};

/// For a client that would wait for a node longer than a test waits for it.
const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_server_that_is_frozen_in_the_handshake_is_a_minority_too() {
    let authority = Authority::new();
    let nodes = Nodes::start_with(3, NodeOptions::default().tls(&authority)).await;
    nodes[2].freeze();
    let options = calm().connect_timeout(LONG);
    let start = |url: &String| {
        let address = address(url, &trusting(&authority));
        Arc::new(RedisNode::start("a", address, options.clone(), &IO)) as Arc<dyn Node>
    };
    let set: NodeSet = nodes.urls().iter().map(start).collect();
    for node in &set[..2] {
        until_voting(node, true).await;
    }
    lock_once(&set).await;
    nodes[2].thaw();
    until_voting(&set[2], true).await;
}

/// More than all buffers between a client and a frozen server take.
#[tokio::test]
async fn requests_that_overfill_the_socket_are_all_served() {
    const CALLERS: usize = 2_000;
    let authority = Authority::new();
    for version in ["TLSv1.2", "TLSv1.3"] {
        let options = NodeOptions::default().tls(&authority);
        let options = options.arg("tls-protocols", version);
        let server = redlock_tests::RedisNode::start_with(options).await;
        let set = connect([server.url()], &trusting(&authority)).await;
        server.freeze();
        // This much traffic takes time on a slow machine. So the timeouts are as long as a test may
        // take.
        let client = client_with_timeout(SOON * 5);
        let mut calls: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let part = |n: usize| format!("{caller}/{n}/{}", "x".repeat(1000));
                let request = Request::new([0, 1, 2, 3, 4, 5, 6, 7].map(part));
                // A node is never waited for longer than a quarter of this.
                let request = request.ttl(SOON * 20).retry_limit(0);
                let (client, set) = (client.clone(), set.clone());
                Box::pin(async move { client.acquire(&set, &request).await })
            })
            .collect();
        for call in &mut calls {
            // That is where a request is submitted.
            assert!(look(call.as_mut()).await.is_none());
        }
        server.thaw();
        // Nothing else is sent before the last one is answered. So bytes that TLS has taken and the
        // socket has not would stay there if the connection did not flush them.
        let mut leases = Vec::new();
        for call in calls {
            leases.push(call.await.unwrap());
        }
        for lease in leases {
            assert_eq!(lease.release().await, Released::Confirmed);
        }
        assert_eq!(server.keys(), Vec::<Vec<u8>>::new());
    }
}

async fn look<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[tokio::test]
async fn a_handshake_that_is_given_up_closes_its_socket() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("rediss://{}", listener.local_addr().unwrap());
    let options = calm().connect_timeout(Duration::from_millis(300));
    let authority = Authority::new();
    let address = address(&url, &trusting(&authority));
    let silent = Arc::new(RedisNode::start("a", address, options, &IO));
    // On a slow machine an attempt may be given up before it has said a word; others follow.
    let said = tokio::time::timeout(SOON, async {
        loop {
            let (mut attempt, _) = listener.accept().await.unwrap();
            let mut said = Vec::new();
            attempt.read_to_end(&mut said).await.unwrap();
            if !said.is_empty() {
                return said;
            }
        }
    });
    let said = said.await.expect("the socket is closed");
    assert!(
        said.starts_with(b"\x16\x03"),
        "the beginning of a handshake"
    );
    // The socket is closed first, and then the status says why.
    until_abstaining(&silent, "no connection").await;
    // The node goes on connecting.
    let again = tokio::time::timeout(SOON, listener.accept()).await;
    again.expect("another attempt").unwrap();
}
