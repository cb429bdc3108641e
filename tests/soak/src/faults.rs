//! Which fault comes when.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::cluster::{Cluster, NodeFault, is_trusted};
use crate::history::Shared;

/// Kinds in random order, each once before any comes again: a short run has every kind as well.
#[derive(Debug)]
pub(crate) struct Deck<T> {
    kinds: Vec<T>,
    left: Vec<T>,
    rng: StdRng,
}

impl<T: Copy> Deck<T> {
    pub(crate) fn new(kinds: &[T], rng: StdRng) -> Self {
        Self {
            kinds: kinds.to_vec(),
            left: Vec::new(),
            rng,
        }
    }

    /// Deals the next kind that `fits`. The others keep their places. At least one kind must fit.
    pub(crate) fn deal(&mut self, fits: impl Fn(&T) -> bool) -> T {
        loop {
            if let Some(place) = self.left.iter().rposition(&fits) {
                return self.left.remove(place);
            }
            // Below the kinds that are not dealt yet.
            let mut round = self.kinds.clone();
            round.shuffle(&mut self.rng);
            self.left.splice(0..0, round);
        }
    }
}

/// Completes when `stopped` is true, or its sender is dropped.
pub(crate) async fn stop(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Completes after `span`, or when `stopped` is true. Returns true if it is.
pub(crate) async fn stops_within(span: Duration, stopped: &watch::Receiver<bool>) -> bool {
    tokio::select! {
        () = sleep(span) => false,
        () = stop(stopped.clone()) => true,
    }
}

/// Injects faults into every node, each on its own: a majority may be away at once, which costs
/// availability and nothing else. When it has stopped, all nodes are well again.
pub(crate) fn trouble_nodes(
    cluster: &Arc<Cluster>,
    seed: u64,
    history: &Shared,
    stopped: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let deck = Deck::new(&NodeFault::ALL, StdRng::seed_from_u64(seed));
    let deck = Arc::new(Mutex::new(deck));
    // One node forgets at a time: if a majority forgets at once, the restart check cannot know of a
    // lock.
    let amnesia = Arc::new(tokio::sync::Mutex::new(()));
    let mut injectors = JoinSet::new();
    for seat in 0..cluster.nodes.len() {
        let (cluster, history) = (Arc::clone(cluster), Arc::clone(history));
        let (deck, stopped) = (Arc::clone(&deck), stopped.clone());
        let amnesia = Arc::clone(&amnesia);
        let mut rng = StdRng::seed_from_u64(seed ^ (seat as u64 + 1) << 8);
        injectors.spawn(async move {
            loop {
                let pause = Duration::from_millis(rng.random_range(200..3300));
                if stops_within(pause, &stopped).await {
                    return;
                }
                let fits =
                    |fault: &NodeFault| !is_trusted(seat) || *fault != NodeFault::RestartEmpty;
                let fault = deck.lock().deal(fits);
                let mut alone = None;
                if fault == NodeFault::RestartEmpty {
                    tokio::select! {
                        turn = Arc::clone(&amnesia).lock_owned() => alone = Some(turn),
                        () = stop(stopped.clone()) => return,
                    }
                }
                let span = Duration::from_millis(rng.random_range(50..1500));
                history.lock().count(&format!("fault: node {fault:?}"));
                cluster.inflict(seat, fault, span, &stopped).await;
                if let Some(turn) = alone {
                    let remembers = Arc::clone(&cluster).remembers(seat);
                    tokio::spawn(async move {
                        remembers.await;
                        drop(turn);
                    });
                }
            }
        });
    }
    injectors
}
