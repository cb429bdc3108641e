//! Candidates over real servers, and a body that tells a test of its terms.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use redlock_runtime::election::{Candidacy, Election, Term};
use redlock_runtime::{Config, LockError, Redlock, election};
use redlock_tests::{Nodes, eventually};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::runtime::fixture::{config, registry, spawn_on, start_nodes};

pub(crate) use crate::runtime::fixture::SOON;

/// The name of the lock.
pub(crate) const OFFICE: &str = "office";

/// Longer than any test here takes, and a ttl that a registry allows.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What a body tells of a term.
#[derive(Debug)]
pub(crate) enum Told {
    Began(Term),
    /// The body's values are dropped. The office's key is on this number of nodes.
    Ended(usize),
}

/// Tells a test of the terms of one candidate. Clones tell the same test.
#[derive(Clone)]
pub(crate) struct Teller {
    told: UnboundedSender<Told>,
    nodes: Arc<Nodes>,
}

impl Teller {
    /// A body that does `work` and tells when it begins and when it is gone.
    pub(crate) async fn lead(&self, term: Term, work: impl Future<Output = ()>) {
        let _end = End(self);
        // The test may be over.
        let _ = self.told.send(Told::Began(term));
        work.await;
    }

    /// A body that ends when it is asked to.
    pub(crate) async fn obey(&self, term: Term) {
        self.lead(term.clone(), async {
            while term.proceed().await {
                term.ending().await;
            }
        })
        .await;
    }
}

/// Its drop tells of the end.
struct End<'a>(&'a Teller);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let keys = self.0.nodes.values_of(OFFICE);
        let _ = self.0.told.send(Told::Ended(keys.iter().flatten().count()));
    }
}

/// One process of a fleet, as far as an election is concerned: a registry and a candidate.
pub(crate) struct Process {
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) redlock: Redlock,
    pub(crate) teller: Teller,
    told: UnboundedReceiver<Told>,
}

impl Process {
    /// A process with three nodes of its own.
    pub(crate) async fn start() -> Self {
        Self::start_with(|config| config).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(Config) -> Config) -> Self {
        Self::on(Arc::new(start_nodes(3).await), change).await
    }

    /// Another process on the same nodes.
    pub(crate) async fn another(&self) -> Self {
        Self::on(Arc::clone(&self.nodes), |config| config).await
    }

    pub(crate) async fn on(nodes: Arc<Nodes>, change: impl FnOnce(Config) -> Config) -> Self {
        let config = change(config(&nodes));
        let redlock = Redlock::start(config).await.expect("a good configuration");
        let (sender, told) = unbounded_channel();
        let teller = Teller {
            told: sender,
            nodes: Arc::clone(&nodes),
        };
        Self {
            nodes,
            redlock,
            teller,
            told,
        }
    }

    /// Stands in a task of its own, with a body that ends when it is asked to.
    pub(crate) fn stand(&self, election: &Election) -> JoinHandle<Result<(), LockError>> {
        self.stand_with(election, Teller::obey_owned)
    }

    /// The same with another body.
    pub(crate) fn stand_with<B>(
        &self,
        election: &Election,
        body: fn(Teller, Term) -> B,
    ) -> JoinHandle<Result<(), LockError>>
    where
        B: Future<Output = ()> + Send + 'static,
    {
        let (election, teller) = (election.clone(), self.teller.clone());
        spawn_on(&self.redlock, async move {
            election
                .run(async |term| body(teller.clone(), term).await)
                .await
        })
    }

    pub(crate) async fn told(&mut self) -> Told {
        let told = tokio::time::timeout(SOON, self.told.recv()).await;
        let told = told.unwrap_or_else(|_| panic!("nothing is told; {:?}", self.candidates()));
        told.expect("the teller is here")
    }

    /// The term that begins next.
    pub(crate) async fn elected(&mut self) -> Term {
        match self.told().await {
            Told::Began(term) => term,
            Told::Ended(_) => panic!("a term ended, and none had begun"),
        }
    }

    /// Waits for the end of a term, and returns on how many nodes its key was then.
    pub(crate) async fn ended(&mut self) -> usize {
        match self.told().await {
            Told::Ended(keys) => keys,
            Told::Began(term) => panic!("another term began within a term: {term:?}"),
        }
    }

    /// Shuts the process down. Returns what is told until its tellers are gone.
    pub(crate) async fn shut_down(self) -> Vec<Told> {
        let Self {
            redlock,
            teller,
            mut told,
            nodes: _nodes,
        } = self;
        redlock.shutdown().await;
        drop(teller);
        let mut rest = Vec::new();
        while let Some(told) = told.recv().await {
            rest.push(told);
        }
        rest
    }

    pub(crate) fn candidates(&self) -> Vec<Candidacy> {
        self.redlock.registry().elections()
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

impl Teller {
    async fn obey_owned(self, term: Term) {
        self.obey(term).await;
    }
}

pub(crate) fn office() -> Election {
    election(OFFICE)
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

/// Stands on the registry of the test's kit, in a task of its own, with a body that ends when it is asked to.
pub(crate) fn stand_alone(
    election: Election,
) -> (JoinHandle<Result<(), LockError>>, UnboundedReceiver<Term>) {
    let (begun, terms) = unbounded_channel();
    let standing = tokio::spawn(async move {
        let body = async |term: Term| {
            // The test may be over.
            let _ = begun.send(term.clone());
            term.ending().await;
        };
        election.run(body).await
    });
    (standing, terms)
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
