//! The tools of the checks: a node, locks, and ways to wait.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::node::{Call, NodeStatus, OwnerToken, Vote};
use redlock_core::testing::{Asked, Calls, submit};
use redlock_core::{Client, IoThread, Lease, Node, NodeSet, Request, Resource, Settings};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep, timeout};

use crate::{LONGEST_WAIT, Rig, TTL};

/// Asserts that a vote matches a pattern, and returns it. The arguments after the pattern name the call.
macro_rules! votes {
    ($asked:expr, $expected:pat $(if $condition:expr)?, $($what:tt)+) => {{
        let vote = $crate::bench::vote($asked).await;
        let is_expected = matches!(&vote, $expected $(if $condition)?);
        assert!(is_expected, "{} is answered {vote:?}", format_args!($($what)+));
        vote
    }};
}

/// Asserts that a call is granted.
macro_rules! granted {
    ($asked:expr, $($what:tt)+) => { votes!($asked, Vote::Granted { .. }, $($what)+) };
}

/// The state of a run: its rig, and the node of the current check.
pub(crate) struct Bench<R> {
    pub(crate) rig: Arc<R>,
    pub(crate) node: Arc<dyn Node>,
    pub(crate) check: &'static str,
    io: IoThread,
    /// The number of keys that have been named.
    named: AtomicU32,
    /// The keys of released locks, which must never return.
    gone: Mutex<Vec<String>>,
}

/// A lock with the owner token of one caller.
pub(crate) struct TestLock {
    /// The first key.
    pub(crate) key: String,
    calls: Calls,
    pub(crate) token: OwnerToken,
}

impl TestLock {
    pub(crate) fn acquire(&self) -> Call {
        self.calls.acquire(&self.token, TTL, 0)
    }

    pub(crate) fn release(&self) -> Call {
        self.calls.release(&self.token, TTL, true)
    }
}

impl<R: Rig> Bench<R> {
    pub(crate) async fn new(rig: &Arc<R>) -> Self {
        Self {
            rig: Arc::clone(rig),
            node: rig.node().await,
            check: "",
            io: IoThread::start().expect("a thread"),
            named: AtomicU32::new(0),
            gone: Mutex::default(),
        }
    }

    /// Replaces the current node by a new one.
    pub(crate) async fn renew(&mut self) {
        self.node = self.rig.node().await;
        self.until_voting(true).await;
    }

    /// Asserts that no late acquisition has set a released key again.
    pub(crate) async fn expect_none_back(&self) {
        let gone = self.gone.lock().clone();
        for key in gone {
            let is_gone = self.rig.value(&key).await.is_none();
            assert!(is_gone, "{key} was gone, and came back");
        }
    }

    /// Returns an unused name. All names of one check are in one hash slot.
    pub(crate) fn name(&self) -> String {
        let named = self.named.fetch_add(1, Ordering::Relaxed);
        format!("conformance:{{{}}}:{named}", self.check)
    }

    pub(crate) fn lock_on(&self, request: &Request) -> TestLock {
        let first = request.resource.names().next().expect("a name");
        TestLock {
            key: String::from_utf8_lossy(first).into_owned(),
            calls: Calls::of(request, b""),
            token: OwnerToken::draw("conformance/1", &*self.io.environment().entropy),
        }
    }

    /// Returns a plain lock on a new key.
    pub(crate) fn lock(&self) -> TestLock {
        self.lock_on(&Request::new(self.name()))
    }

    /// Returns the lock of another caller on the key of `lock`.
    pub(crate) fn rival(&self, lock: &TestLock) -> TestLock {
        self.lock_on(&Request::new(&*lock.key))
    }

    /// Returns a plain lock on the key of `lock` and on another one.
    pub(crate) fn wider(&self, lock: &TestLock) -> TestLock {
        let keys = [lock.key.clone(), self.name()];
        self.lock_on(&Request::new(Resource::all(keys)))
    }

    /// Acquires the free `lock` by a client that has only this node.
    pub(crate) fn acquire(&self, lock: &TestLock) -> impl Future<Output = Lease> + Send + use<R> {
        let settings = Settings::default()
            .node_timeout(LONGEST_WAIT)
            .key_prefix([]);
        let client = Client::with_settings(self.io.environment(), settings);
        let nodes: NodeSet = [Arc::clone(&self.node)].into();
        let request = Request::new(&*lock.key).ttl(TTL).retry_limit(0);
        async move { client.acquire(&nodes, &request).await.expect("a free lock") }
    }

    pub(crate) fn submit(&self, call: Call) -> Asked {
        submit(&*self.node, call)
    }

    /// Takes the free lock of `request`.
    pub(crate) async fn held(&self, request: &Request) -> TestLock {
        let mut lock = self.lock_on(request);
        let call = lock.acquire();
        let asked = self.submit(call.clone());
        let vote = granted!(asked, "a free lock, {}", request.kind);
        lock.calls = lock.calls.chosen(&call, &vote).unwrap_or(lock.calls);
        lock
    }

    /// Takes a plain lock on a new key.
    pub(crate) async fn taken(&self) -> TestLock {
        self.held(&Request::new(self.name())).await
    }

    /// Submits the releases of `locks`, and drops their answers.
    pub(crate) fn undo<'a>(&self, locks: impl IntoIterator<Item = &'a TestLock>) {
        for lock in locks {
            drop(self.submit(lock.release()));
        }
    }

    /// Asserts that the keys of released locks disappear long before their ttl.
    pub(crate) async fn expect_gone<'a>(&self, locks: impl IntoIterator<Item = &'a TestLock>) {
        for key in locks.into_iter().flat_map(|lock| lock.calls.keys().names()) {
            let key = String::from_utf8_lossy(key).into_owned();
            let is_gone = async || self.rig.value(&key).await.is_none();
            until(&format!("the released key {key} to go"), is_gone).await;
            self.gone.lock().push(key);
        }
    }

    /// Asserts that the token of `lock` holds its key.
    pub(crate) async fn expect_held(&self, lock: &TestLock) {
        let value = self.rig.value(&lock.key).await;
        let is_held = value.as_deref() == Some(lock.token.as_bytes());
        assert!(is_held, "{} has another value than its holder's", lock.key);
    }

    /// Ends all faults, and asserts that the node grants a lock to a caller that retries.
    pub(crate) async fn mend(&self) {
        self.rig.mend().await;
        self.until_voting(true).await;
        until("the node to grant", async || {
            let lock = self.lock();
            let vote = vote(self.submit(lock.acquire())).await;
            self.undo([&lock]);
            self.expect_gone([&lock]).await;
            matches!(vote, Vote::Granted { .. })
        })
        .await;
    }

    pub(crate) async fn until_voting(&self, expected: bool) {
        let votes = async || matches!(self.node.status(), NodeStatus::Voting) == expected;
        until(&format!("the node to vote: {expected}"), votes).await;
    }

    pub(crate) async fn until_drained(&self) {
        until("the node to be drained", async || self.node.drained()).await;
    }
}

/// Returns the vote of a call. Panics if the vote takes longer than [`LONGEST_WAIT`].
pub(crate) async fn vote(asked: Asked) -> Vote {
    let vote = timeout(LONGEST_WAIT, asked.vote()).await;
    vote.unwrap_or_else(|_| {
        panic!("a call had no answer, and had not failed, after {LONGEST_WAIT:?}")
    })
}

/// Waits until `is_so`. Panics after [`LONGEST_WAIT`].
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(
            began.elapsed() < LONGEST_WAIT,
            "waited {LONGEST_WAIT:?} for {what}"
        );
        sleep(Duration::from_millis(5)).await;
    }
}

/// Does `work` on a thread outside of all runtimes.
///
/// `work` gets a runtime, which ends after it.
pub(crate) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce(&Runtime) -> T + Send + 'static,
) -> T {
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        drop(done.send(work(&runtime.expect("a runtime"))));
    });
    let result = timeout(LONGEST_WAIT, result).await.expect("nothing blocks");
    result.expect("nothing panics on another thread")
}
