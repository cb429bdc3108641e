//! On which server a waiter looks out for the lock.

use std::sync::{Arc, Mutex};

use redlock_core::NodeSet;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, RedisNode, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::sentinel::fixture::{SOON, calm, client, once, voting};

/// A sentinel that says what a test wants: the port of the master, and the number of the failover.
struct Puppet {
    url: String,
    names: Arc<Mutex<(u16, u32)>>,
}

impl Puppet {
    async fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let names = Arc::new(Mutex::new((port, 1)));
        let shared = Arc::clone(&names);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&shared)));
            }
        });
        let url = format!("redis+sentinel://{address}/shop");
        Self { url, names }
    }

    fn name(&self, port: u16, epoch: u32) {
        *self.names.lock().unwrap() = (port, epoch);
    }
}

/// Answers every question that has come, in its order.
async fn answer(mut stream: TcpStream, names: Arc<Mutex<(u16, u32)>>) {
    let mut question = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut question).await {
        let (port, epoch) = *names.lock().unwrap();
        let text = String::from_utf8_lossy(&question[..length]);
        let bulk = |word: &String| format!("${}\r\n{word}\r\n", word.len());
        let greeting = text.contains("HELLO").then(|| "%0\r\n".to_owned());
        let answers = text.split("SENTINEL\r\n").skip(1).map(|question| {
            let words = if question.contains("GET-MASTER") {
                ["127.0.0.1".into(), port.to_string()]
            } else {
                ["config-epoch".into(), epoch.to_string()]
            };
            format!("*2\r\n{}", words.iter().map(bulk).collect::<String>())
        });
        let reply: String = greeting.into_iter().chain(answers).collect();
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Waits for a lock, and does not come back before it is told to.
fn wait_for(resource: &str, set: &NodeSet) -> JoinHandle<()> {
    let set = set.clone();
    let mut request = once(resource);
    request.retry.limit = RetryLimit::Forever;
    request.retry.delay = SOON * 10;
    tokio::spawn(async move {
        let _ = client().acquire(&set, &request).await;
    })
}

/// Whether a connection of the server is told of keys.
fn is_looked_out(node: &RedisNode) -> Result<bool, String> {
    let list: Result<String, _> = node.try_command(["CLIENT", "LIST"]);
    let list = list.map_err(|error| error.to_string())?;
    Ok(list.lines().any(|line| line.contains("flags=t")))
}

async fn until_looked_out(node: &RedisNode) {
    eventually("a connection that is told of keys", SOON, async || {
        is_looked_out(node)?
            .then_some(())
            .ok_or("there is none".to_owned())
    })
    .await;
}

#[tokio::test]
async fn it_is_where_its_node_is_whatever_a_sentinel_says_that_is_late() {
    let nodes = Nodes::start(2).await;
    let (old, new) = (&nodes[0], &nodes[1]);
    for node in [old, new] {
        node.set("r", "another", None);
    }
    let sentinel = Puppet::start(new.port()).await;
    sentinel.name(new.port(), 2);
    let set = voting(sentinel.url.clone(), calm()).await;
    // The sentinel that is asked next has not heard of the failover.
    sentinel.name(old.port(), 1);
    let waiting = wait_for("r", &set);
    until_looked_out(new).await;
    waiting.abort();
}
