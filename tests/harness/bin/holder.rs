//! A process that holds a lock, for tests that stop it and kill it.
//!
//! `holder RESOURCE TTL_MS URL…` acquires the lock, says `held, listening on ADDRESS`, and runs a
//! body under it: for each byte that arrives at the address the body says `tick`, and at the end of
//! the connection it is done. The holder says `waiting after N ticks` each time the body has been
//! polled and has to wait, and in the end `done`, `late` or `cancelled: …`, and how the release went.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use redlock_core::lease::{BodyOutcome, OnLost};
use redlock_core::{Client, IoThread, Request};
use redlock_tests::connect;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

/// The node timeout, which is long because no test depends on it.
const NODE_TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let resource = args.next().expect("a resource");
    let ttl = args.next().and_then(|ttl| ttl.parse().ok());
    let ttl = Duration::from_millis(ttl.expect("a ttl in ms"));
    let io = IoThread::start().expect("a thread");
    let nodes = connect(args, &io).await;
    let client = Client::with_settings(
        io.environment(),
        redlock_core::Settings::default()
            .node_timeout(NODE_TIMEOUT)
            .key_prefix([]),
    );
    let lease = client
        .acquire(&nodes, &Request::new(resource).ttl(ttl))
        .await
        .expect("the lock is free");

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    println!("held, listening on {address}");
    let ticks = Cell::new(0);
    let mut body = pin!(tick(listener, &ticks));
    let outcome = {
        let mut held = pin!(lease.hold(body.as_mut(), OnLost::Cancel));
        poll_fn(|context| {
            let polled = held.as_mut().poll(context);
            if polled.is_pending() {
                println!("waiting after {} ticks", ticks.get());
            }
            polled
        })
        .await
    };
    match outcome {
        BodyOutcome::Done(()) => println!("done"),
        BodyOutcome::Late((), over) => println!("late: {over}"),
        BodyOutcome::Cancelled(over) => println!("cancelled: {over}"),
    }
    println!("released: {:?}", lease.release().await);
    let unserved = client.flush(&nodes, NODE_TIMEOUT).await;
    assert!(unserved.is_empty(), "not served by {unserved:?}");
}

async fn tick(listener: TcpListener, ticks: &Cell<u32>) {
    let (mut stream, _) = listener.accept().await.expect("a connection");
    while stream.read_u8().await.is_ok() {
        ticks.set(ticks.get() + 1);
        println!("tick");
    }
}
