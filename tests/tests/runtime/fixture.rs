//! A registry over real nodes.

use std::time::Duration;

use redlock_runtime::{Config, Redlock, Registry};
use redlock_tests::{Nodes, eventually};
use tokio::sync::oneshot;

/// How long a test waits for something that takes milliseconds, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// `a`, `b`, `c` … as pools. A refusal is an answer and not a wait, and a busy machine is no slow
/// node.
pub(crate) fn config(nodes: &Nodes) -> Config {
    let config = Config::new().retry_count(0).node_timeout(SOON);
    nodes
        .urls()
        .into_iter()
        .zip('a'..)
        .fold(config, |config, (url, name)| config.pool(name, url))
}

pub(crate) async fn start(n: usize) -> (Nodes, Redlock) {
    let nodes = Nodes::start(n).await;
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
        // Also when the test has gone: then nobody wants the body to wait any longer.
        let _ = (&mut self.end).await;
    }
}

pub(crate) async fn until_held_everywhere(nodes: &Nodes, key: &str) {
    eventually("the key on every node", SOON, || async {
        let values = nodes.values_of(key);
        if values.iter().all(Option::is_some) {
            Ok(())
        } else {
            Err(format!("{values:?}"))
        }
    })
    .await;
}

/// What `work` comes to, or its panic.
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
