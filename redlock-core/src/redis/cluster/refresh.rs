//! The topology refresh: learns the slots of each master again and again.

use std::sync::Arc;
use std::time::Duration;

use rand::seq::SliceRandom as _;
use tokio::time::{Instant, sleep, timeout};

use crate::env::caught::{log, unless_it_panics};
use crate::redis::backoff::{Backoff, LONGEST_PAUSE};
use crate::redis::newest::newest;

use super::{ClusterShared, view};

/// The interval at which the map is learned without a reason.
const EVERY: Duration = Duration::from_secs(15);

/// If a server has not answered for this time, another one is asked as well.
const HEDGE: Duration = Duration::from_millis(100);

/// The most servers that are asked for one map.
const MOST_ASKED: usize = 10;

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
    let (mut backoff, mut known, mut logged) = (Backoff::new(), 0, String::new());
    loop {
        // In any order: seeds that are gone, and masters that were replaced, are not always the first.
        let masters = cluster.map().shards.clone().into_iter();
        let masters = masters.map(|it| it.server.clone());
        let mut servers: Vec<_> = masters.chain(cluster.seeds.iter().cloned()).collect();
        servers.shuffle(&mut rand::rng());
        servers.truncate(MOST_ASKED);
        let pace = (HEDGE, cluster.options.connect_timeout);
        let is_enough = |told: &[(u64, _)]| told.iter().any(|(epoch, _)| *epoch >= known);
        match newest(servers, view::ask, pace, &cluster.io.time(), is_enough).await {
            Ok((epoch, ranges)) => {
                known = epoch;
                logged.clear();
                cluster.state.lock().why = None;
                cluster.apply(&ranges).await;
            }
            Err(why) => {
                let reason = why.to_string();
                cluster.metrics.record_error(&why);
                if logged != reason {
                    log!(warn, pool = %cluster.name, %reason, "the Cluster's slots cannot be learned");
                }
                logged = reason;
                cluster.state.lock().why = Some(why);
            }
        }
        cluster.settled.close();
        // However many calls are refused.
        sleep(backoff.next()).await;
        let since = Instant::now();
        while cluster.is_quiet() && since.elapsed() < EVERY {
            let news = timeout(LONGEST_PAUSE, cluster.news.notified()).await;
            if news.is_ok() {
                break;
            }
        }
        if since.elapsed() >= LONGEST_PAUSE {
            backoff = Backoff::new();
        }
    }
}
