//! Sentinels that say what a test wants.

use std::sync::Arc;

use redlock_tests::RedisNode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A sentinel whose answers a test chooses and holds back.
pub(crate) struct Puppet {
    address: String,
    script: Arc<Script>,
}

struct Script {
    says: watch::Sender<Says>,
    /// The number of answers so far.
    answers: watch::Sender<u32>,
}

struct Says {
    port: u16,
    epoch: u32,
    is_held: bool,
}

impl Puppet {
    /// Starts a sentinel that names `master`, by the failover number 1.
    pub(crate) async fn start(master: &RedisNode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let says = Says {
            port: master.port(),
            epoch: 1,
            is_held: false,
        };
        let script = Arc::new(Script {
            says: watch::Sender::new(says),
            answers: watch::Sender::new(0),
        });
        let shared = Arc::clone(&script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&shared)));
            }
        });
        Self { address, script }
    }

    pub(crate) async fn start_three(master: &RedisNode) -> [Self; 3] {
        let start = || Self::start(master);
        [start().await, start().await, start().await]
    }

    pub(crate) fn name(&self, master: &RedisNode, epoch: u32) {
        self.script.says.send_modify(|says| {
            (says.port, says.epoch) = (master.port(), epoch);
        });
    }

    /// Keeps back its answers, until `hold(false)`.
    pub(crate) fn hold(&self, is_held: bool) {
        self.script.says.send_modify(|says| says.is_held = is_held);
    }

    /// Waits until it has given so many `more` answers.
    pub(crate) async fn has_answered(&self, more: u32) {
        let mut answers = self.script.answers.subscribe();
        let all = *answers.borrow() + more;
        let _ = answers.wait_for(|answers| *answers >= all).await;
    }
}

/// The URL of a pool whose sentinels these are.
pub(crate) fn url<'a>(puppets: impl IntoIterator<Item = &'a Puppet>) -> String {
    let addresses: Vec<_> = puppets.into_iter().map(|it| &*it.address).collect();
    format!("redis+sentinel://{}/shop", addresses.join(","))
}

/// Answers every question that has come, in its order.
async fn answer(mut stream: TcpStream, script: Arc<Script>) {
    let mut question = [0; 4096];
    let mut says = script.says.subscribe();
    while let Ok(length @ 1..) = stream.read(&mut question).await {
        let text = String::from_utf8_lossy(&question[..length]);
        let bulk = |word: &String| format!("${}\r\n{word}\r\n", word.len());
        let reply: String = {
            let Ok(says) = says.wait_for(|says| !says.is_held).await else {
                return;
            };
            let greeting = text.contains("HELLO").then(|| "%0\r\n".to_owned());
            let answers = text.split("SENTINEL\r\n").skip(1).map(|question| {
                let words = if question.contains("GET-MASTER") {
                    ["127.0.0.1".into(), says.port.to_string()]
                } else {
                    ["config-epoch".into(), says.epoch.to_string()]
                };
                format!("*2\r\n{}", words.iter().map(bulk).collect::<String>())
            });
            greeting.into_iter().chain(answers).collect()
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
        if text.contains("SENTINEL\r\n") {
            script.answers.send_modify(|answers| *answers += 1);
        }
    }
}
