//! Which fault comes when.

use std::collections::BTreeMap;
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
use crate::options::Options;

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

    pub(crate) fn deal(&mut self) -> T {
        self.deal_one(|_| true)
    }

    /// Deals the next kind that `fits`. The others keep their places. At least one kind must fit.
    pub(crate) fn deal_one(&mut self, fits: impl Fn(&T) -> bool) -> T {
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

/// How often each fault was injected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toll(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Toll {
    pub(crate) fn add(&self, fault: &'static str) {
        let mut counts = self.0.lock();
        *counts.entry(fault).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().clone()
    }
}

/// Completes when `stopped` is true, or its sender is dropped.
pub(crate) async fn stop(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Injects faults into every node, each on its own: a majority may be away at once, which costs
/// availability and nothing else. When it has stopped, all nodes are well again.
pub(crate) fn trouble_nodes(
    cluster: &Arc<Cluster>,
    options: &Options,
    toll: &Toll,
    stopped: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let deck = Deck::new(&NodeFault::ALL, StdRng::seed_from_u64(options.seed));
    let deck = Arc::new(Mutex::new(deck));
    // One node forgets at a time: if a majority forgets at once, the restart check cannot know of a
    // lock.
    let amnesia = Arc::new(tokio::sync::Mutex::new(()));
    let mut injectors = JoinSet::new();
    for seat in 0..cluster.nodes.len() {
        let (cluster, toll) = (Arc::clone(cluster), toll.clone());
        let (deck, stopped) = (Arc::clone(&deck), stopped.clone());
        let amnesia = Arc::clone(&amnesia);
        let mut rng = StdRng::seed_from_u64(options.seed ^ (seat as u64 + 1) << 8);
        injectors.spawn(async move {
            loop {
                let pause = Duration::from_millis(rng.random_range(200..3300));
                tokio::select! {
                    () = sleep(pause) => {}
                    () = stop(stopped.clone()) => return,
                }
                let fits =
                    |fault: &NodeFault| !is_trusted(seat) || *fault != NodeFault::RestartEmpty;
                let fault = {
                    let mut deck = deck.lock();
                    deck.deal_one(fits)
                };
                let mut alone = None;
                if fault == NodeFault::RestartEmpty {
                    tokio::select! {
                        turn = Arc::clone(&amnesia).lock_owned() => alone = Some(turn),
                        () = stop(stopped.clone()) => return,
                    }
                }
                let span = Duration::from_millis(rng.random_range(50..1500));
                toll.add(fault.name());
                let ended = stop(stopped.clone());
                cluster.inflict(seat, fault, span, ended).await;
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
