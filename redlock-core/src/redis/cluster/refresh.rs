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

/// The servers that are asked at once for one map.
const ASKED: usize = 3;

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
        let map = cluster.map();
        let masters = map.shards.values().map(|it| &it.server);
        let mut servers: Vec<_> = masters.chain(&cluster.seeds).cloned().collect();
        servers.shuffle(&mut rand::rng());
        servers.truncate(ASKED);
        let within = cluster.options.connect_timeout;
        let is_enough = |told: &[(u64, _)]| told.iter().any(|(epoch, _)| *epoch >= known);
        match newest(&servers, view::ask, within, &cluster.io.time(), is_enough).await {
            Ok((epoch, ranges)) => {
                known = epoch;
                logged.clear();
                cluster.apply(ranges).await;
            }
            Err(why) => {
                let reason = why.to_string();
                cluster.metrics.record_error(&why);
                if logged != reason {
                    log!(warn, pool = %cluster.name, %reason, "the Cluster's slots cannot be learned");
                }
                logged = reason;
                *cluster.why.lock() = why;
            }
        }
        cluster.settled.close();
        // However much is wrong.
        sleep(backoff.next()).await;
        let since = Instant::now();
        // Masters that do not vote, and releases that are owed, are trouble at least once a second.
        let _ = timeout(EVERY, cluster.metrics.trouble.notified()).await;
        if since.elapsed() >= LONGEST_PAUSE {
            backoff = Backoff::new();
        }
    }
}
