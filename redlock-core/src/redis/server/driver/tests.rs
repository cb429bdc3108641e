//! A driver that connects to a server played by the test, on a clock that the test moves.

use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::*;
use crate::env::{Clock, Moment, Sleep};
use crate::kinds::exclusive::RELEASE_EACH;
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::model::token::TokenSource;
use crate::node::{Call, NodeStatus, Reply};
use crate::quorum::round::{Goal, Round};
use crate::redis::connection::backoff::SPREAD;
use crate::redis::protocol::wire::{Value, decode};
use crate::restart_check::{CheckedSet, RestartCheck};

const STEP: Duration = Duration::from_millis(5);
/// An answer to `TIME`.
const TIME: &str = "*2\r\n$4\r\n5000\r\n$1\r\n0\r\n";

/// A server on a unix socket. The test accepts its connections.
struct Server {
    listener: UnixListener,
    path: std::path::PathBuf,
    /// While there is a blocking task, a paused clock does not move by itself.
    _clock: mpsc::Sender<()>,
}

impl Server {
    fn start(name: &str) -> Self {
        let file = format!("redlock-driver-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(file);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (clock, stands) = mpsc::channel();
        tokio::task::spawn_blocking(move || stands.recv());
        Self {
            listener,
            path,
            _clock: clock,
        }
    }

    /// A driver for this server, and its inbox.
    fn driver(&self, io: &IoThread) -> (Driver, Arc<Inbox>) {
        let url = format!("redis+unix://{}", self.path.display());
        let address = Arc::new(RedisAddress::parse(&url).unwrap());
        let options = RedisOptions::default();
        let name: Arc<str> = "a".into();
        let inbox = Arc::new(Inbox::new(Arc::clone(&name), 100));
        let driver = Driver {
            address,
            inbox: Arc::clone(&inbox),
            options: Arc::new(options),
            server_check: None,
            _io: io.clone(),
        };
        (driver, inbox)
    }

    /// Moves the clock until there is a connection.
    async fn accept(&self) -> Peer {
        for _ in 0..1000 {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            if let Ok((stream, _)) = self.listener.accept() {
                stream.set_nonblocking(true).unwrap();
                return Peer {
                    stream: UnixStream::from_std(stream).unwrap(),
                    input: BytesMut::new(),
                };
            }
            tokio::time::advance(STEP).await;
        }
        panic!("the driver does not connect");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Driver {
    /// Gives the node a check that asks for the time alone.
    fn be_checked(&mut self, clock: Arc<dyn Clock>) {
        let checked_set = Arc::new(CheckedSet::new(RestartCheck::Off, LONGEST_PAUSE, 1));
        let server_check = ServerCheck::new(&self.inbox.log, &checked_set, false, clock);
        self.server_check = Some(Arc::new(Mutex::new(server_check)));
    }
}

/// The server's end of a connection.
struct Peer {
    stream: UnixStream,
    input: BytesMut,
}

impl Peer {
    /// The next command, its words separated by spaces.
    async fn command(&mut self) -> String {
        loop {
            if let Some((Value::Array(words), length)) = decode(&self.input).unwrap() {
                let text = |word: &Value<'_>| match word {
                    Value::Bulk(word) => String::from_utf8_lossy(word).into_owned(),
                    other => panic!("{other:?}"),
                };
                let words: Vec<_> = words.iter().map(text).collect();
                self.input.advance(length);
                return words.join(" ");
            }
            assert_ne!(self.stream.read_buf(&mut self.input).await.unwrap(), 0);
        }
    }

    /// The first words of the commands that come without an answer.
    async fn unanswered(&mut self) -> Vec<String> {
        let mut commands = Vec::new();
        for _ in 0..1000 {
            tokio::select! {
                biased;
                command = self.command() => {
                    commands.push(command.split(' ').next().unwrap().to_owned());
                }
                () = tokio::task::yield_now() => {}
            }
        }
        commands
    }

    async fn answer(&mut self, reply: &str) {
        self.stream.write_all(reply.as_bytes()).await.unwrap();
    }

    /// Answers the greeting and the scripts. The last command calls a script that is known by then.
    async fn shake_hands(&mut self) {
        loop {
            let command = self.command().await;
            self.answer(&greet(&command, "7.0.0")).await;
            if command.starts_with("EVALSHA") {
                return;
            }
        }
    }
}

/// The answer to a command of the greeting.
fn greet(command: &str, version: &str) -> String {
    let text = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    match command.split(' ').next() {
        Some("HELLO") => {
            let hello = ["server", "redis", "version", version].map(text).concat();
            format!("*4\r\n{hello}")
        }
        Some("INFO" | "CONFIG") => "-NOPERM this user has no permissions\r\n".to_owned(),
        Some("TIME") => TIME.to_owned(),
        _ => ":1\r\n".to_owned(),
    }
}

fn release(io: &IoThread) -> Arc<Call> {
    let token = TokenSource::new().fresh(&*io.environment().entropy);
    Arc::new(plain(&Resource::from("r")).release(&token, Duration::from_secs(60), true))
}

/// Waits until the node votes (`votes`) or does not. Returns the reason why it does not.
async fn until(inbox: &Inbox, votes: bool) -> String {
    loop {
        match inbox.status() {
            NodeStatus::Voting if votes => return String::new(),
            NodeStatus::Abstaining(reason) if !votes => return reason.to_string(),
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_of_use_is_made_anew_without_a_longer_pause() {
    let io = IoThread::start().unwrap();
    let server = Server::start("pause");
    let (driver, inbox) = server.driver(&io);
    let driver = tokio::spawn(driver.run());
    let mut peer = server.accept().await;
    for _ in 0..10 {
        peer.shake_hands().await;
        until(&inbox, true).await;
        let round = Round::new(1, Goal::All);
        let release = release(&io);
        let reply = Reply::new(Arc::clone(&round), 0, &release);
        inbox.submit(release, reply);
        peer.command().await;
        peer.answer(":1\r\n").await;
        round.decided().await;
        drop(peer);
        until(&inbox, false).await;
        let closed = Instant::now();
        peer = server.accept().await;
        let pause = closed.elapsed();
        assert!(pause <= SPREAD + STEP, "{pause:?}");
    }
    // Without an answer after the handshake the pause grows.
    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        peer.shake_hands().await;
        until(&inbox, true).await;
        drop(peer);
        until(&inbox, false).await;
        let closed = Instant::now();
        peer = server.accept().await;
        longest = longest.max(closed.elapsed());
    }
    assert!(longest > SPREAD + STEP, "{longest:?}");
    driver.abort();
}

#[tokio::test(start_paused = true)]
async fn a_connection_takes_four_round_trips_before_it_votes() {
    let io = IoThread::start().unwrap();
    let server = Server::start("round-trips");
    let (mut driver, inbox) = server.driver(&io);
    driver.be_checked(io.environment().clock);
    Arc::make_mut(&mut driver.options).trust_aof = true;
    let driver = tokio::spawn(driver.run());
    let mut peer = server.accept().await;
    let mut round_trips = Vec::new();
    while round_trips.len() < 4 {
        let mut commands = peer.unanswered().await;
        for command in &commands {
            peer.answer(&greet(command, "7.0.0")).await;
        }
        commands.dedup();
        round_trips.push(commands.join(" "));
    }
    let expected = ["HELLO", "INFO CONFIG", "EVAL EVALSHA", "TIME"];
    assert_eq!(round_trips, expected);
    until(&inbox, true).await;
    driver.abort();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_too_old_does_not_vote_and_says_which_version_it_has() {
    let io = IoThread::start().unwrap();
    let unknown = "-ERR unknown command 'HELLO', with args beginning with: '2'\r\n";
    for (place, (answer, version)) in [
        (greet("HELLO", "6.2.14"), "6.2.14"),
        ("*0\r\n".to_owned(), "unknown"),
        (unknown.to_owned(), "before 6.0"),
    ]
    .into_iter()
    .enumerate()
    {
        let server = Server::start(&format!("old-{place}"));
        let (driver, inbox) = server.driver(&io);
        let driver = tokio::spawn(driver.run());
        let mut peer = server.accept().await;
        peer.command().await;
        peer.answer(&answer).await;
        let _next = server.accept().await;
        let reason = until(&inbox, false).await;
        let expected = format!("version is {version}; locks need Redis 7.0");
        assert!(reason.contains(&expected), "{reason}");
        driver.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn releases_go_in_one_call_only_if_the_greeting_has_found_it_allowed() {
    let io = IoThread::start().unwrap();
    let trial = format!("EVAL {}", RELEASE_EACH.text().unwrap());
    for (place, is_allowed) in [true, false].into_iter().enumerate() {
        let at = Server::start(&format!("calls-{place}"));
        let (driver, inbox) = at.driver(&io);
        let driver = tokio::spawn(driver.run());
        let mut peer = at.accept().await;
        loop {
            let command = peer.command().await;
            if command.starts_with(&trial) && !is_allowed {
                peer.answer("-NOPERM no permissions to run the 'mget' command\r\n")
                    .await;
                continue;
            }
            peer.answer(&greet(&command, "7.0.0")).await;
            if command.starts_with("EVALSHA") {
                break;
            }
        }
        until(&inbox, true).await;
        inbox.submit(release(&io), Reply::to_nobody());
        inbox.submit(release(&io), Reply::to_nobody());
        let sent = peer.command().await;
        let keys = if is_allowed { " 2 r r " } else { " 1 r " };
        assert!(sent.contains(keys), "{sent}");
        driver.abort();
    }
}

/// A clock that panics once, when the test says so.
struct Moody {
    clock: Arc<dyn Clock>,
    panics: AtomicBool,
}

impl Clock for Moody {
    fn now(&self) -> Moment {
        assert!(!self.panics.swap(false, Ordering::Relaxed), "on purpose");
        self.clock.now()
    }

    fn wall(&self) -> Duration {
        self.clock.wall()
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        self.clock.sleep_until(at)
    }
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_panics_goes_on_with_another_connection_and_repeats_its_releases() {
    let io = IoThread::start().unwrap();
    let server = Server::start("panic");
    let (mut driver, inbox) = server.driver(&io);
    let clock = Arc::new(Moody {
        clock: io.environment().clock,
        panics: AtomicBool::new(false),
    });
    driver.be_checked(Arc::clone(&clock) as Arc<dyn Clock>);
    let driver = tokio::spawn(driver.run());
    let mut peer = server.accept().await;
    peer.shake_hands().await;
    assert_eq!(peer.command().await, "TIME");
    peer.answer(TIME).await;
    until(&inbox, true).await;
    tokio::time::advance(RedisOptions::default().heartbeat).await;
    assert_eq!(peer.command().await, "TIME");
    let round = Round::new(1, Goal::All);
    let release = release(&io);
    let reply = Reply::new(Arc::clone(&round), 0, &release);
    inbox.submit(release, reply);
    let sent = peer.command().await;

    clock.panics.store(true, Ordering::Relaxed);
    peer.answer(TIME).await;
    round.decided().await;
    assert!(round.tally().failed == 1 && round.seats().reached & 1 == 1);
    let mut peer = server.accept().await;
    peer.shake_hands().await;
    assert_eq!(peer.command().await, "TIME");
    assert_eq!(peer.command().await, sent);
    peer.answer(&format!("{TIME}:1\r\n")).await;
    until(&inbox, true).await;
    assert!(!inbox.owes(Instant::now()));
    driver.abort();
}
