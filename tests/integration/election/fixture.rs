//! Candidates over real servers, and on the nodes of the test's kit.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use redlock_runtime::election::{Election, Term};
use redlock_runtime::{LockError, Redlock, election};
use redlock_tests::{Nodes, eventually};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use crate::runtime::fixture::{config, registry, spawn_on, start_nodes};

pub(crate) use crate::runtime::fixture::SOON;

/// The name of the lock.
pub(crate) const OFFICE: &str = "office";

/// Longer than any test here takes, and a ttl that a registry allows.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A candidate in a task of its own, and the terms of which its body tells. The body ends when it is asked to.
pub(crate) type Standing = (JoinHandle<Result<(), LockError>>, UnboundedReceiver<Term>);

/// What stands, before it is spawned on a registry.
fn standing(
    election: Election,
) -> (
    impl Future<Output = Result<(), LockError>> + Send,
    UnboundedReceiver<Term>,
) {
    let (begun, terms) = unbounded_channel();
    let run = async move {
        let body = async |term: Term| {
            // The test may be over.
            let _ = begun.send(term.clone());
            term.ending().await;
        };
        election.run(body).await
    };
    (run, terms)
}

/// One process of a fleet, as far as an election is concerned.
pub(crate) struct Process {
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) redlock: Redlock,
}

impl Process {
    /// A process with three nodes of its own.
    pub(crate) async fn start() -> Self {
        Self::on(Arc::new(start_nodes(3).await)).await
    }

    /// Another process on the same nodes.
    pub(crate) async fn another(&self) -> Self {
        Self::on(Arc::clone(&self.nodes)).await
    }

    async fn on(nodes: Arc<Nodes>) -> Self {
        let redlock = Redlock::start(config(&nodes)).await;
        let redlock = redlock.expect("a good configuration");
        Self { nodes, redlock }
    }

    pub(crate) fn stand(&self, election: &Election) -> Standing {
        let (run, terms) = standing(election.clone());
        (spawn_on(&self.redlock, run), terms)
    }

    /// Waits until the candidate waits for a lock that somebody else has.
    pub(crate) async fn until_refused(&self) {
        eventually("a candidate that watches the lock", SOON, async || {
            let counts = self.nodes.iter().map(|node| node.info("tracking_clients"));
            let is_watched = counts.flatten().any(|clients| clients != "0");
            is_watched.then_some(()).ok_or("none yet".to_owned())
        })
        .await;
    }
}

pub(crate) fn office() -> Election {
    election(OFFICE)
}

/// The term that begins next.
pub(crate) async fn elected(terms: &mut UnboundedReceiver<Term>) -> Term {
    let term = tokio::time::timeout(SOON, terms.recv()).await;
    term.expect("nobody is elected").expect("it stands")
}

/// What a task returned that has to end by itself.
pub(crate) async fn end_of<T>(task: JoinHandle<T>) -> T {
    let ended = tokio::time::timeout(SOON, task).await;
    ended.expect("it goes on").expect("it panicked")
}

/// `work` with the calls in it on the process' registry.
pub(crate) async fn scoped<W: Future>(process: &Process, work: W) -> W::Output {
    registry(&process.redlock).scope(work).await
}

/// Stands on the registry of the test's kit.
pub(crate) fn stand_alone(election: Election) -> Standing {
    let (run, terms) = standing(election);
    (tokio::spawn(run), terms)
}

/// What `time` is on tokio's clock, whose timers fire on full milliseconds.
pub(crate) fn ms_later(time: Duration) -> Range<Duration> {
    time..time + Duration::from_millis(10)
}

/// What `work` returns on tokio's paused clock, on which an hour takes no time.
pub(crate) async fn ends<W: Future>(work: W) -> W::Output {
    let ended = tokio::time::timeout(Duration::from_secs(3600), work).await;
    ended.expect("it goes on")
}
