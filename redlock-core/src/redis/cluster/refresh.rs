//! The topology refresh: learns the slots of each master again and again.

use std::sync::Arc;
use std::time::Duration;

use rand::seq::SliceRandom as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::env::caught::{log, unless_it_panics};
use crate::model::brief::Brief;
use crate::node::{NodeError, NodeStatus};
use crate::redis::address::Server;
use crate::redis::backoff::{LONGEST_PAUSE, jittered};
use crate::redis::errors::not_connected;

use super::ClusterShared;
use super::view::{View, ask};

const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The interval at which the map is learned without a reason.
const EVERY: Duration = Duration::from_secs(15);

/// If a server has not answered for this time, another one is asked as well.
const HEDGE: Duration = Duration::from_millis(100);

/// The most servers that are asked one after the other.
const MOST_HEDGES: u32 = 10;

/// Learns the map, until the task is aborted. After a panic it starts again with a pause.
pub(super) async fn run(cluster: Arc<ClusterShared>) {
    while unless_it_panics("a Cluster's topology refresh", learn_always(&cluster))
        .await
        .is_none()
    {
        sleep(LONGEST_PAUSE).await;
    }
}

async fn learn_always(cluster: &ClusterShared) {
    let mut pause = FIRST_PAUSE;
    let mut epoch = 0;
    let mut logged = String::new();
    loop {
        let learned = cluster.learn(epoch).await;
        let why = learned.as_ref().err().cloned();
        let text = why.as_ref().map(NodeError::to_string).unwrap_or_default();
        if let Some(why) = &why {
            cluster.metrics.record_error(why);
            if logged != text {
                log!(warn, pool = %cluster.name, reason = %text, "the Cluster's slots cannot be learned");
            }
        }
        logged = text;
        cluster.state.lock().why = why;
        if let Ok(view) = learned {
            epoch = view.epoch;
            cluster.apply(&view.ranges).await;
        }
        cluster.settled.close();
        // However many calls are refused.
        sleep(jittered(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        let since = Instant::now();
        while cluster.is_quiet() && since.elapsed() < EVERY {
            let news = timeout(LONGEST_PAUSE, cluster.news.notified()).await;
            if news.is_ok() {
                break;
            }
        }
        if since.elapsed() >= LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
    }
}

impl ClusterShared {
    /// True if every slot has a master that votes, and no release is owed.
    fn is_quiet(&self) -> bool {
        let (map, now) = (self.map(), self.io.time().now());
        let state = self.state.lock();
        state.retired.is_empty()
            && state.parked.is_empty()
            && matches!(map.status(), Some(NodeStatus::Voting))
            && !map.shards.iter().any(|it| it.node.inbox.owes(now))
    }

    /// The view of the first server that is not behind `epoch`, or else of the server that knows best.
    async fn learn(&self, epoch: u64) -> Result<View, NodeError> {
        let mut asking = JoinSet::new();
        let longest = self.options.connect_timeout;
        for (turn, server) in (0..).zip(self.candidates()) {
            asking.spawn(async move {
                sleep(HEDGE * MOST_HEDGES.min(turn)).await;
                let told = timeout(longest, ask(&server)).await;
                let late = || not_connected(format!("no answer within {}", Brief(longest)));
                let told = told.unwrap_or_else(|_| Err(late()));
                told.map_err(|it| NodeError::unsent(it.kind(), format!("{server}: {it}")))
            });
        }
        let mut best: Result<View, _> = Err(not_connected("no server of the Cluster is known"));
        while let Some(told) = asking.join_next().await {
            // A task that panicked knows nothing.
            let Ok(told) = told else { continue };
            if let Ok(view) = &told
                && view.epoch >= epoch
            {
                return told;
            }
            let rank = |told: &Result<View, _>| told.as_ref().ok().map(|view| view.epoch);
            if rank(&told) >= rank(&best) {
                best = told;
            }
        }
        best
    }

    /// The servers to ask, in any order; masters that do not vote come last.
    fn candidates(&self) -> Vec<Server> {
        let map = self.map();
        let masters = map.shards.iter();
        let masters = masters.map(|it| (!it.votes(), it.server.clone()));
        let seeds = self.seeds.iter().map(|seed| (false, seed.clone()));
        let mut candidates: Vec<_> = masters.chain(seeds).collect();
        candidates.shuffle(&mut rand::rng());
        candidates.sort_by_key(|(is_ill, _)| *is_ill);
        candidates.into_iter().map(|(_, server)| server).collect()
    }
}
