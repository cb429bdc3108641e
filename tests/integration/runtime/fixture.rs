//! A registry over real nodes.

use std::time::Duration;

use redlock_core::node::WIRE_FORMAT;
use redlock_core::restart_check::marker_key;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, Redlock};
use redlock_tests::{Nodes, wait_until};
use tokio::sync::oneshot;

/// How long a test waits for something that takes milliseconds, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Starts `n` servers and puts them in use.
pub(crate) async fn start_nodes(n: usize) -> Nodes {
    let nodes = Nodes::start(n).await;
    put_in_use(&nodes);
    nodes
}

/// Writes the marker that every server of a used set has: a server that is not reached while a new
/// set is opened votes no for minutes. One server alone has no marker.
pub(crate) fn put_in_use(nodes: &Nodes) {
    if nodes.len() < 2 {
        return;
    }
    for node in nodes {
        let run_id = node.info("run_id").expect("a server says which run it is");
        node.set(
            marker_key(b""),
            format!("{WIRE_FORMAT} 0 {run_id} 0 0 new"),
            None,
        );
    }
}

/// `a`, `b`, `c` … as pools. A refusal is an answer and not a wait, and a busy machine is no slow
/// node.
pub(crate) fn config(nodes: &Nodes) -> Config {
    let config = Config::new()
        .defaults(LockOptions::new().retry_count(0))
        .node_timeout(SOON)
        .connect_timeout(SOON);
    nodes
        .urls()
        .into_iter()
        .zip('a'..)
        .fold(config, |config, (url, name)| config.pool(name, url))
}

pub(crate) async fn start(n: usize) -> (Nodes, Redlock) {
    let nodes = start_nodes(n).await;
    let redlock = Redlock::start(config(&nodes))
        .await
        .expect("a good configuration");
    (nodes, redlock)
}

/// Runs `work` with the calls in it on `redlock`'s registry, as a task of its own.
pub(crate) fn spawn_on<F>(redlock: &Redlock, work: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(registry(redlock).scope(work))
}

pub(crate) fn registry(redlock: &Redlock) -> Registry {
    redlock.registry().clone()
}

/// Tells a test that a body has begun, and the body when to end.
pub(crate) struct Stage {
    begun: Option<oneshot::Sender<()>>,
    end: oneshot::Receiver<()>,
}

/// The test's side of a [`Stage`].
pub(crate) struct Director {
    pub(crate) begun: oneshot::Receiver<()>,
    pub(crate) end: oneshot::Sender<()>,
}

pub(crate) fn stage() -> (Stage, Director) {
    let (begun, has_begun) = oneshot::channel();
    let (end, has_ended) = oneshot::channel();
    (
        Stage {
            begun: Some(begun),
            end: has_ended,
        },
        Director {
            begun: has_begun,
            end,
        },
    )
}

impl Stage {
    /// Says that the body runs, and waits until the test lets it go on.
    pub(crate) async fn play(&mut self) {
        if let Some(begun) = self.begun.take() {
            // The test may not care.
            let _ = begun.send(());
        }
        // This also completes when the test has ended and dropped the sender. The body then ends too.
        let _ = (&mut self.end).await;
    }
}

pub(crate) async fn until_held_everywhere(nodes: &Nodes, key: &str) {
    let are_all = |values: &Vec<_>| values.iter().all(Option::is_some);
    wait_until("the key on every node", || nodes.values_of(key), are_all).await;
}

/// Waits until `callers` callers stand in line.
pub(crate) async fn until_in_line(redlock: &Redlock, callers: usize) {
    let waiting = || redlock.registry().waiting();
    wait_until("callers in line", waiting, |it| *it == callers).await;
}

/// The output of `work`, or its panic.
pub(crate) async fn catch_unwind<F: Future>(work: F) -> std::thread::Result<F::Output> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|context| {
        let polled = std::panic::AssertUnwindSafe(|| work.as_mut().poll(context));
        match std::panic::catch_unwind(polled) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => std::task::Poll::Ready(Err(panic)),
        }
    })
    .await
}
