//! A lock around any service, by a key of the request.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::examples::{assert_end_well, until_locked};
use crate::services::fleet::Fleet;

/// Sends a payment, whose answer is to come.
async fn pay(addr: SocketAddr, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!(
        "POST /payments HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nIdempotency-Key: {key}\r\n\
         Content-Length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn requests_of_one_key_are_served_one_at_a_time() {
    let fleet = Fleet::start("tower_layer", 2, &[]).await;
    let [one, other] = [0, 1].map(|index| fleet.services[index].addr());
    let first = pay(one, "k1").await;
    until_locked(&fleet, 1).await;
    // The lock is held until the process goes on, and not for the few seconds of a payment.
    fleet.services[0].freeze();

    let refused = answer(pay(other, "k1").await).await;
    assert!(refused.starts_with("HTTP/1.1 423 "), "{refused}");
    assert!(refused.contains("application/problem+json"), "{refused}");
    let long = pay(other, &"k".repeat(2000)).await;
    let second = answer(pay(other, "k2").await).await;
    fleet.services[0].thaw();

    for paid in [second, answer(long).await, answer(first).await] {
        assert!(
            paid.starts_with("HTTP/1.1 200 ") && paid.ends_with("paid\n"),
            "{paid}"
        );
    }
    assert_end_well(&fleet).await;
}
