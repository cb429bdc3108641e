//! A checked connection to a server played by the test.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf};

use super::*;
use crate::IoThread;
use crate::env::still_clock::still_clock;
use crate::env::tasks::by_hand;
use crate::kinds::looks::inspect;
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::model::token::{OwnerToken, TokenSource};
use crate::node::log::NodeLog;
use crate::node::{Call, NodeStatus, Reply, Vote};
use crate::quorum::round::{Goal, Round};
use crate::redis::connection::handshake::Allowed;
use crate::redis::connection::vetting::Facts;
use crate::restart_check::{CheckedSet, RestartCheck};

/// Accepts every write.
#[derive(Default)]
struct Socket(Mutex<Vec<u8>>);

impl Sink for Socket {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().extend_from_slice(bytes);
    }
}

impl Socket {
    fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock());
        String::from_utf8(bytes).unwrap()
    }
}

/// Takes what is written to a connection.
trait Sink: Send + Sync + 'static {
    fn write(&self, bytes: &[u8]);

    fn flush(&self) -> Poll<()> {
        Poll::Ready(())
    }
}

/// A connection that is read and written apart.
struct Halves<R, S>(R, Arc<S>);

impl<R: AsyncRead + Unpin, S> AsyncRead for Halves<R, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<R: Unpin, S: Sink> AsyncWrite for Halves<R, S> {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.1.write(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.1.flush().map(Ok)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn node_log(pool: &str) -> NodeLog {
    NodeLog::new(pool.into(), &by_hand().2)
}

/// A server's answer to a check when its clock shows `ms`.
fn checked(ms: u64, marker: Option<&str>) -> String {
    let marker = marker.map_or("$-1\r\n".to_owned(), bulk);
    let (seconds, micros) = ((ms / 1000).to_string(), (ms % 1000 * 1000).to_string());
    format!("*3\r\n{}{}{marker}", bulk(&seconds), bulk(&micros))
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

async fn answer(serve: &mut Serve, server: &mut DuplexStream, reply: &str) {
    server.write_all(reply.as_bytes()).await.unwrap();
    look(serve);
}

fn look(serve: &mut Serve) {
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(serve).poll(&mut context).is_pending());
}

const TTL: Duration = Duration::from_secs(60);

/// Makes a call of the plain lock on some keys.
type Make = fn(&Resource, &OwnerToken) -> Call;

const ACQUIRE: Make = |keys, token| plain(keys).acquire(token, TTL, 0);
const EXTEND: Make = |keys, token| plain(keys).extend(token, TTL);
const RESTORE: Make = |keys, token| plain(keys).restore(token, TTL);
const RELEASE: Make = |keys, token| plain(keys).release(token, TTL, true);
const INSPECT: Make = |keys, _| inspect(keys);

fn fresh(io: &IoThread) -> OwnerToken {
    TokenSource::new().fresh(&*io.environment().entropy)
}

fn submit(inbox: &Inbox, io: &IoThread, make: Make) -> Arc<Round> {
    submit_call(inbox, make(&Resource::from("r"), &fresh(io)))
}

fn submit_call(inbox: &Inbox, call: Call) -> Arc<Round> {
    let (round, call) = (Round::new(1, Goal::All), Arc::new(call));
    let reply = Reply::new(Arc::clone(&round), 0, &call);
    inbox.submit(call, reply);
    round
}

#[tokio::test(start_paused = true)]
async fn what_is_granted_behind_the_answer_that_it_forgot_is_no_vote() {
    let io = IoThread::start().unwrap();
    let ttl = Duration::from_secs(1);
    let checked_set = Arc::new(CheckedSet::new(RestartCheck::Standard, ttl, 1));
    // The test sets the server's time. Compared with a running clock, that time would seem to step
    // whenever the machine is slow.
    let (_, clock) = still_clock();
    let server_check = ServerCheck::new(&node_log("a"), &checked_set, false, clock);
    let server_check = Arc::new(Mutex::new(server_check));
    server_check.lock().connected(Facts::of_role(false));
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let socket = Arc::new(Socket::default());
    let connected = connected(reader, &socket);
    let mut serve = Serve::new(connected, &inbox, &options, Some(&server_check));
    let is_voting = || matches!(inbox.status(), NodeStatus::Voting);

    look(&mut serve);
    assert!(
        socket.take().contains("redlock:marker") && !is_voting(),
        "looked at first"
    );
    answer(&mut serve, &mut server, &checked(5_000, None)).await;
    assert!(socket.take().contains("1 ? 5000 opening"), "the set is new");
    let opening = checked(5_000, Some("1 ? 5000 opening 1000 6000"));
    answer(&mut serve, &mut server, &opening).await;
    assert!(
        socket.take().contains("1 ? 5000 new"),
        "all of it is marked"
    );
    assert!(!is_voting());
    let marked = checked(5_001, Some("1 ? 5000 new 1000 5000"));
    answer(&mut serve, &mut server, &marked).await;
    assert!(is_voting());

    // A caller acquires while the next question is unanswered. The answer shows that the node was
    // flushed.
    tokio::time::advance(options.heartbeat).await;
    look(&mut serve);
    assert!(socket.take().contains("redlock:marker"));
    let acquired = submit(&inbox, &io, ACQUIRE);
    let released = submit(&inbox, &io, RELEASE);
    look(&mut serve);
    assert!(socket.take().contains("SET"));
    answer(&mut serve, &mut server, &checked(5_002, None)).await;
    assert!(!is_voting() && inbox.epoch() == 1);
    answer(&mut serve, &mut server, "$-1\r\n:1\r\n").await;
    assert!(
        matches!(&acquired.answers()[..], [Some(Vote::Failed(error))]
            if error.kind() == NodeErrorKind::Quarantined && error.was_sent()),
        "{:?}",
        acquired.answers(),
    );
    assert_eq!(released.tally().granted, 1, "it is undone all the same");
}

const FORGOTTEN: &str = "-NOSCRIPT No matching script.\r\n";

#[tokio::test(start_paused = true)]
async fn what_sets_a_key_is_not_sent_again_behind_what_undoes_it() {
    let io = IoThread::start().unwrap();
    let keys = Resource::all(["a", "b"]);
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let socket = Arc::new(Socket::default());
    let connected = connected(reader, &socket);
    let mut serve = Serve::new(connected, &inbox, &options, None);
    look(&mut serve);

    for make in [ACQUIRE, RESTORE] {
        let token = fresh(&io);
        let round = submit_call(&inbox, make(&keys, &token));
        look(&mut serve);
        socket.take();
        answer(&mut serve, &mut server, FORGOTTEN).await;
        assert!(socket.take().contains("EVAL\r\n"), "nothing was run");
        answer(&mut serve, &mut server, ":1\r\n").await;
        assert_eq!(round.tally().granted, 1);

        let round = submit_call(&inbox, make(&keys, &token));
        let release = submit_call(&inbox, RELEASE(&keys, &token));
        look(&mut serve);
        socket.take();
        answer(&mut serve, &mut server, &format!("{FORGOTTEN}:1\r\n")).await;
        assert!(socket.take().is_empty());
        assert_eq!((round.tally().failed, release.tally().granted), (1, 1));
    }
}

/// Accepts every write, as TLS does, and sends the bytes on a flush if the socket takes them.
#[derive(Default)]
struct Secured {
    socket: Socket,
    taken: Mutex<Vec<u8>>,
    is_full: AtomicBool,
}

impl Sink for Secured {
    fn write(&self, bytes: &[u8]) {
        self.taken.lock().extend_from_slice(bytes);
    }

    fn flush(&self) -> Poll<()> {
        if self.is_full.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        self.socket.write(&std::mem::take(&mut *self.taken.lock()));
        Poll::Ready(())
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_connection_took_and_did_not_send_is_looked_after() {
    let io = IoThread::start().unwrap();
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let secured = Arc::new(Secured::default());
    let connected = connected(reader, &secured);
    let mut serve = Serve::new(connected, &inbox, &options, None);
    for _ in 0..16 {
        look(&mut serve);
        let round = submit(&inbox, &io, ACQUIRE);
        secured.is_full.store(true, Ordering::Relaxed);
        look(&mut serve);
        assert!(secured.socket.take().is_empty(), "the socket is full");
        secured.is_full.store(false, Ordering::Relaxed);
        look(&mut serve);
        assert!(secured.socket.take().contains("SET"), "and is so no more");
        answer(&mut serve, &mut server, "$-1\r\n").await;
        assert_eq!(round.tally().granted, 1);
    }
}

/// Counts the reads that return bytes.
struct Counted {
    reader: DuplexStream,
    reads: Arc<AtomicUsize>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.reader).poll_read(context, buffer);
        let is_any = buffer.filled().len() > before;
        self.reads.fetch_add(usize::from(is_any), Ordering::Relaxed);
        read
    }
}

fn connected(reader: impl AsyncRead + Send + Unpin + 'static, sink: &Arc<impl Sink>) -> Connected {
    Connected {
        stream: Box::new(Halves(reader, Arc::clone(sink))),
        socket: None,
        allowed: Allowed {
            joins: true,
            ..Allowed::default()
        },
        facts: Facts::of_role(false),
    }
}

#[tokio::test(start_paused = true)]
async fn many_answers_are_read_at_once() {
    const ROUNDS: usize = 100;
    const OPERATIONS: usize = 1000;
    let io = IoThread::start().unwrap();
    let inbox = Arc::new(Inbox::new("a".into(), OPERATIONS));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Counted {
        reader,
        reads: Arc::clone(&reads),
    };
    let socket = Arc::new(Socket::default());
    let mut serve = Serve::new(connected(counted, &socket), &inbox, &options, None);
    // Of two keys, so that each is a call of its own.
    let keys = Resource::all(["r", "s"]);
    for _ in 0..ROUNDS {
        for _ in 0..OPERATIONS {
            submit_call(&inbox, RELEASE(&keys, &fresh(&io)));
        }
        look(&mut serve);
        answer(&mut serve, &mut server, &":1\r\n".repeat(OPERATIONS)).await;
    }
    assert_eq!(inbox.health().in_flight, 0);
    let reads = reads.load(Ordering::Relaxed);
    assert!(
        reads <= ROUNDS + 1,
        "{reads} reads for {} answers",
        ROUNDS * OPERATIONS
    );
}

mod joined;
#[cfg(unix)]
mod lending;
#[cfg(unix)]
mod moves;
mod owed;
mod refusals;
mod restart_check;
