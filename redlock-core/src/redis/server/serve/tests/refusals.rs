//! A server that answers acquisitions with errors.

use super::*;

const REFUSED: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
const GRANTED: &str = "$-1\r\n";

fn why(inbox: &Inbox) -> Option<String> {
    match inbox.status() {
        NodeStatus::Voting => None,
        NodeStatus::Abstaining(error) => Some(error.to_string()),
    }
}

struct Scene<'a> {
    serve: Serve,
    server: DuplexStream,
    socket: Arc<Socket>,
    inbox: &'a Inbox,
    io: IoThread,
}

impl<'a> Scene<'a> {
    fn set(inbox: &'a Arc<Inbox>, options: &Arc<RedisOptions>) -> Self {
        let (server, reader) = tokio::io::duplex(1 << 16);
        let socket = Arc::new(Socket::default());
        let serve = Serve::new(connected(reader, &socket), inbox, options, None);
        let io = IoThread::start().unwrap();
        Self {
            serve,
            server,
            socket,
            inbox,
            io,
        }
    }

    async fn ask(&mut self, make: Make, reply: &str) {
        submit(self.inbox, &self.io, make);
        look(&mut self.serve);
        self.socket.take();
        answer(&mut self.serve, &mut self.server, reply).await;
    }

    async fn acquire(&mut self, reply: &str) {
        self.ask(ACQUIRE, reply).await;
    }

    /// Waits for the next probe, and answers it.
    async fn probe(&mut self, reply: &str) {
        tokio::time::advance(Duration::from_secs(1)).await;
        look(&mut self.serve);
        let sent = self.socket.take();
        assert!(
            sent.contains("redlock:permissions") && sent.contains("XX"),
            "{sent}"
        );
        answer(&mut self.serve, &mut self.server, reply).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_with_errors_counts_as_one_that_does_not_vote() {
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(RedisOptions::default());
    let mut scene = Scene::set(&inbox, &options);
    for _ in 0..2 {
        scene.acquire(REFUSED).await;
        scene.acquire(REFUSED).await;
        assert_eq!(why(&inbox), None, "that may be an accident");
        scene.acquire(GRANTED).await;
    }
    for _ in 0..3 {
        scene.acquire(REFUSED).await;
    }
    assert!(why(&inbox).unwrap().starts_with("OOM"));
    scene.ask(EXTEND, ":1\r\n").await;
    assert!(why(&inbox).is_some(), "it needs no memory for that");
    scene.acquire(GRANTED).await;
    assert_eq!(why(&inbox), None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_nobody_asks_any_more_is_asked_until_it_would_vote_again() {
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(RedisOptions::default());
    let mut scene = Scene::set(&inbox, &options);
    for _ in 0..3 {
        scene.acquire(REFUSED).await;
    }
    for _ in 0..60 {
        scene.probe(REFUSED).await;
        assert!(why(&inbox).unwrap().starts_with("OOM"));
    }
    scene.probe("$-1\r\n").await;
    assert_eq!(why(&inbox), None);
    tokio::time::advance(Duration::from_secs(2)).await;
    look(&mut scene.serve);
    assert!(
        !scene.socket.take().contains("permissions"),
        "nobody doubts it"
    );

    // If the user may not use the probe's key, the errors are forgotten after a while.
    for _ in 0..3 {
        scene.acquire(REFUSED).await;
    }
    for _ in 0..9 {
        scene
            .probe("-NOPERM No permissions to access a key\r\n")
            .await;
        assert!(why(&inbox).is_some());
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(why(&inbox), None);
    scene.acquire(REFUSED).await;
    assert_eq!(why(&inbox), None);
}
