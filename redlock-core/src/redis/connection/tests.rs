//! Tests of an actor that only the test polls.

use std::future::{Future as _, pending};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};

use super::actor::Actor;
use super::check::ServerCheck;
use super::connect::connect;
use super::open::ConnectTo;
use crate::env::tests::still_clock;
use crate::io_thread::{IoThread, LibraryTime};
use crate::kinds::any_kind::peek;
use crate::logging::NodeLog;
use crate::model::resource::Resource;
use crate::node::{Node as _, NodeStatus};
use crate::redis::address;
use crate::redis::inbox::Inbox;
use crate::redis::options::RedisOptions;
use crate::redis::vetting::ServerRole;
use crate::waiting::tests::Woken;

/// A time limit, longer than connecting takes on any machine.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// Gives each command of the next client one constant answer, which is enough for a node that votes.
pub(super) async fn serve(listener: TcpListener) {
    let (client, _) = listener.accept().await.expect("a client");
    let mut client: BufStream<TcpStream> = BufStream::new(client);
    let mut line = String::new();
    loop {
        let mut words = 1_usize;
        while words > 0 {
            line.clear();
            client.read_line(&mut line).await.expect("a length");
            let length = line[1..].trim_end().parse().expect("a number");
            if line.starts_with('*') {
                words = length;
            } else {
                let mut word = vec![0; length + 2];
                client.read_exact(&mut word).await.expect("a word");
                words -= 1;
            }
        }
        client
            .write_all(b"*2\r\n:0\r\n_\r\n")
            .await
            .expect("a reader");
        client.flush().await.expect("a reader");
    }
}

/// The connection is seen to end before the operation is submitted. After that, only the operation wakes the actor.
#[tokio::test]
async fn an_operation_on_a_connection_that_just_ended_fails_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("an address");
    let server = tokio::spawn(serve(listener));
    let place = address::tests::server(&format!("redis://{at}"));
    let io = IoThread::start().unwrap();
    let connected = connect(&place, false, b"", SOON, ConnectTo::First, &io).await;
    let connected = connected.expect("a connection");
    let mut connection = connected.opened.connection.clone();
    let clock = still_clock().1;
    let log = NodeLog::new("a".into(), Arc::clone(&clock));
    let (options, time) = (RedisOptions::default(), LibraryTime::default());
    let inbox = Arc::new(Inbox::new(log, options, Arc::default(), time));
    let mut check = ServerCheck::new(&inbox, clock);
    let actor = Actor::new(connected, &inbox, &mut check, ServerRole::Alone);
    let mut serving = pin!(actor.serve(Box::pin(pending())));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut poll = || serving.as_mut().poll(&mut Context::from_waker(&waker));
    while !matches!(inbox.status(), NodeStatus::Voting) {
        assert!(poll().is_pending());
        tokio::task::yield_now().await;
    }
    server.abort();
    let ping = ::redis::cmd("PING");
    while connection.send_packed_command(&ping).await.is_ok() {}
    let asked = crate::testing::submit(&*inbox, peek(&Resource::from("r")));
    while woken.take() > 0 {
        if let Poll::Ready(ended) = poll() {
            ended.expect_err("the server has gone");
            break;
        }
    }
    assert!(asked.answered().is_some());
}
