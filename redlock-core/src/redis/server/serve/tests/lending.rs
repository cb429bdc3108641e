//! A connection that is lent to the runtime of its callers.

mod many;

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::super::Serving;
use super::*;
use crate::redis::RedisOptions;
use crate::redis::connection::movable::Movable;

const TTL: Duration = Duration::from_secs(20);
/// More operations than it takes to lend a connection.
const MANY: usize = 100;
/// Looks at a lent connection are so far apart that none happens.
const NO_LOOKS: Duration = Duration::from_secs(1_000_000);

/// Called by the connection when it flushes without having written: behind a look into the inbox that
/// found nothing.
type Hook = Box<dyn FnMut(&Inbox) + Send>;

/// A connection that calls a test in the middle of a poll.
struct Hooked {
    socket: Movable,
    has_written: bool,
    writes: Arc<AtomicUsize>,
    inbox: Arc<Inbox>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl AsyncRead for Hooked {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, into)
    }
}

impl AsyncWrite for Hooked {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.has_written = true;
        self.writes.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::take(&mut self.has_written)
            && let Some(hook) = &mut *self.hook.lock()
        {
            hook(&self.inbox);
        }
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

struct Scene {
    io: IoThread,
    hook: Arc<Mutex<Option<Hook>>>,
    /// The number of writes to the socket.
    writes: Arc<AtomicUsize>,
    inbox: Arc<Inbox>,
    serving: JoinHandle<ConnectionEnd>,
    /// While this is set, the server answers only when it is told to.
    holds: Arc<AtomicBool>,
    tell: mpsc::Sender<()>,
    /// One for each operation that the server received.
    received: mpsc::Receiver<()>,
}

impl Scene {
    fn set(suspect_after: Duration) -> Self {
        let io = IoThread::start().unwrap();
        let inbox = Arc::new(Inbox::new("a".into(), 100));
        let options = RedisOptions {
            suspect_after,
            ..RedisOptions::default()
        };
        let (client, mut server) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let its_inbox = Arc::clone(&inbox);
        let hook = Arc::default();
        let its_hook = Arc::clone(&hook);
        let writes = Arc::default();
        let its_writes = Arc::clone(&writes);
        let serving = io.handle().spawn(async move {
            let client = tokio::net::UnixStream::from_std(client).unwrap();
            let socket = Movable::from(client);
            let stream = Hooked {
                socket: socket.clone(),
                has_written: false,
                writes: its_writes,
                inbox: Arc::clone(&its_inbox),
                hook: its_hook,
            };
            let connected = Connected {
                stream: Box::new(stream),
                socket: Some(socket),
                allowed: Allowed {
                    joins: true,
                    ..Allowed::default()
                },
                facts: Facts::of_role(false),
            };
            let serve = Serve::new(connected, &its_inbox, &Arc::new(options), None);
            Serving::new(serve).await
        });
        io.handle().block_on(inbox.settled());

        let holds = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let (receive, received) = mpsc::channel();
        let is_holding = Arc::clone(&holds);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = server.read(&mut bytes) {
                let operations = bytes[..count]
                    .windows(4)
                    .filter(|it| it == b"SET\r")
                    .count();
                for _ in 0..operations {
                    let _ = receive.send(());
                    if is_holding.load(Ordering::Relaxed) && told.recv().is_err() {
                        return;
                    }
                    server.write_all(b"$-1\r\n").unwrap();
                }
            }
        });
        Self {
            io,
            hook,
            writes,
            inbox,
            serving,
            holds,
            tell,
            received,
        }
    }

    fn submit(&self) -> Arc<Round> {
        submit(&self.inbox, &self.io, ACQUIRE)
    }

    fn submit_release(&self) -> Arc<Round> {
        submit(&self.inbox, &self.io, RELEASE)
    }

    /// Operations one after the other, by a caller in `runtime`.
    fn call(&self, runtime: &Runtime) {
        self.call_times(runtime, MANY);
    }

    fn call_times(&self, runtime: &Runtime, times: usize) {
        runtime.block_on(async {
            for _ in 0..times {
                let round = self.submit();
                round.decided().await;
                assert_eq!(round.tally().granted, 1);
            }
        });
    }

    /// A scene whose connection is lent to `runtime`.
    fn lent_to(runtime: &Runtime, suspect_after: Duration) -> Self {
        let scene = Self::set(suspect_after);
        scene.call(runtime);
        assert!(scene.inbox.is_lent());
        scene.received.try_iter().for_each(drop);
        scene
    }

    /// An operation that the server received and holds back. Nothing runs in `runtime` behind this.
    fn in_flight(&self, runtime: &Runtime) -> Arc<Round> {
        self.holds.store(true, Ordering::Relaxed);
        runtime.block_on(async {
            let round = self.submit();
            // The connection is served while this waits.
            while self.received.try_recv().is_err() {
                tokio::task::yield_now().await;
            }
            round
        })
    }

    /// Waits, outside of the callers' runtime, until the operation is served.
    fn is_served(&self, round: &Arc<Round>) {
        let decided = async { tokio::time::timeout(TTL, round.decided()).await };
        self.io.handle().block_on(decided).expect("it is served");
        assert_eq!(round.tally().granted, 1);
    }
}

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_lone_caller_is_served_where_it_runs() {
    let mut multi = Builder::new_multi_thread();
    let multi = multi.worker_threads(2).enable_all().build().unwrap();
    for runtime in [current(), multi] {
        let scene = Scene::lent_to(&runtime, NO_LOOKS);
        scene.call(&runtime);
        assert!(scene.inbox.is_lent());
    }
}

#[test]
fn a_runtime_that_stands_still_delays_nobody_else() {
    let runtime = current();
    let scene = Scene::lent_to(&runtime, NO_LOOKS);
    // Nothing runs in `runtime` from here on.
    let round = scene.submit();
    scene.is_served(&round);
    assert!(!scene.inbox.is_lent());
    let other = current();
    scene.call(&other);
    scene.call(&runtime);
}

#[test]
fn what_a_runtime_sent_before_it_stood_still_is_answered() {
    let runtime = current();
    let scene = Scene::lent_to(&runtime, Duration::from_millis(200));
    let round = scene.in_flight(&runtime);
    scene.tell.send(()).unwrap();
    scene.is_served(&round);
}

#[test]
fn a_runtime_that_ends_takes_nothing_along() {
    let runtime = current();
    let scene = Scene::lent_to(&runtime, NO_LOOKS);
    let round = scene.in_flight(&runtime);
    assert!(scene.inbox.is_lent());
    drop(runtime);
    scene.tell.send(()).unwrap();
    scene.is_served(&round);
    scene.holds.store(false, Ordering::Relaxed);
    scene.call(&current());
    assert!(!scene.serving.is_finished());
}

#[test]
fn an_operation_that_the_runtime_never_sent_is_sent_at_its_end() {
    let runtime = current();
    let scene = Scene::lent_to(&runtime, NO_LOOKS);
    let round = runtime.block_on(async { scene.submit() });
    drop(runtime);
    scene.is_served(&round);
}

#[test]
fn a_runtime_whose_clock_a_test_moves_is_served_in_real_time() {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    let scene = Scene::lent_to(&runtime, Duration::from_millis(200));
    for _ in 0..3 {
        runtime.block_on(tokio::time::advance(Duration::from_secs(3600)));
        scene.call(&runtime);
        assert!(matches!(scene.inbox.status(), NodeStatus::Voting));
    }
    assert!(!scene.serving.is_finished());
}

#[test]
fn a_runtime_without_sockets_or_timers_is_served_by_the_library() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let scene = Scene::set(NO_LOOKS);
    scene.call(&runtime);
    assert!(!scene.inbox.is_lent());
    let other = current();
    scene.call(&other);
    assert!(scene.inbox.is_lent(), "others are not");
}

#[test]
fn the_end_of_a_lent_connection_reaches_the_driver() {
    let runtime = current();
    let mut scene = Scene::lent_to(&runtime, NO_LOOKS);
    let round = scene.in_flight(&runtime);
    // The server closes the connection.
    scene.tell = mpsc::channel().0;
    runtime.block_on(round.decided());
    assert_eq!(round.tally().failed, 1);
    let ended = scene.io.handle().block_on(scene.serving).unwrap();
    assert!(matches!(ended, ConnectionEnd::Broken(error)
        if error.kind() == NodeErrorKind::Disconnected));
}

#[test]
fn a_driver_that_is_dropped_ends_what_is_lent() {
    let runtime = current();
    let scene = Scene::lent_to(&runtime, NO_LOOKS);
    let round = scene.in_flight(&runtime);
    let release = runtime.block_on(async { scene.submit_release() });
    scene.serving.abort();
    runtime.block_on(async { (round.decided().await, release.decided().await) });
    assert_eq!((round.tally().failed, release.tally().failed), (1, 1));
    assert!(scene.inbox.owes(Instant::now()), "the release");
    assert!(!scene.inbox.is_lent());
}

#[test]
fn an_operation_that_comes_before_the_loan_does_not_wait_for_the_runtime() {
    let runtime = current();
    let scene = Scene::set(NO_LOOKS);
    let io = scene.io.clone();
    let (tell, told) = mpsc::channel();
    *scene.hook.lock() = Some(Box::new(move |inbox| {
        if inbox.is_loan_wanted() {
            // The caller is on a thread without a runtime.
            let submitted = std::thread::scope(|scope| {
                let want = ACQUIRE;
                let io = &io;
                scope.spawn(move || submit(inbox, io, want)).join()
            });
            let _ = tell.send(submitted.unwrap());
        }
    }));
    let round = (0..MANY).find_map(|_| {
        // Nothing runs in `runtime` between the operations.
        let round = runtime.block_on(async { scene.submit() });
        scene.is_served(&round);
        told.try_recv().ok()
    });
    scene.is_served(&round.expect("a loan is wanted"));
}

#[test]
fn a_runtime_that_left_operations_unsent_is_lent_to_less_often() {
    let runtime = current();
    let scene = Scene::lent_to(&runtime, Duration::from_millis(200));
    // The runtime stands still before the task there sees it.
    let round = runtime.block_on(async { scene.submit() });
    scene.is_served(&round);
    scene.call_times(&runtime, 24);
    assert!(!scene.inbox.is_lent());
    scene.call_times(&runtime, 24);
    assert!(scene.inbox.is_lent());
    // Any runtime stands still once in a long loan.
    scene.call_times(&runtime, 6 * MANY);
    let round = runtime.block_on(async { scene.submit() });
    scene.is_served(&round);
    scene.call_times(&runtime, 24);
    assert!(scene.inbox.is_lent());
}

#[test]
fn a_runtime_that_ends_with_its_thread_takes_nothing_along() {
    thread_local! {
        static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
    }
    let scene = Scene::set(NO_LOOKS);
    let of_thread = move || {
        let round = RUNTIME.with_borrow_mut(|mine| {
            // What tokio keeps for the thread is made behind this, and ends before the runtime does.
            let runtime = mine.insert(current());
            scene.call(runtime);
            assert!(scene.inbox.is_lent());
            scene.received.try_iter().for_each(drop);
            scene.in_flight(runtime)
        });
        (scene, round)
    };
    let (scene, round) = std::thread::spawn(of_thread).join().unwrap();
    scene.tell.send(()).unwrap();
    scene.is_served(&round);
    assert!(!scene.serving.is_finished());
}
