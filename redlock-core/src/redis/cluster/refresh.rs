//! The topology refresh: learns the slots of each master again and again.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rand::seq::SliceRandom as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::env::caught::{log, unless_it_panics};
use crate::model::brief::Brief;
use crate::node::hash_slot::slot_of;
use crate::node::{NodeError, NodeStatus};
use crate::redis::connection::backoff::{FIRST_PAUSE, LONGEST_PAUSE, jittered};
use crate::redis::connection::errors::not_connected;
use crate::redis::connection::handshake::{dial, exchange, greet};
use crate::redis::connection::vetting::refused;
use crate::redis::protocol::wire::{Value, pack};

use super::super::address::Server;
use super::layout::{ClusterHealth, Layout};
use super::map::SlotMap;
use super::{ClusterShared, Shard};

/// The interval at which the map is learned without a reason.
const EVERY: Duration = Duration::from_secs(15);

/// If a server has not answered for this time, another one is asked as well.
const HEDGE: Duration = Duration::from_millis(100);

/// The time for which the Cluster's last known epoch counts. A server that is behind it is not
/// believed. After this time it may be another Cluster in the place of the old one.
const EPOCH_LASTS: Duration = Duration::from_secs(60);

/// A server's answer.
struct ClusterView {
    health: ClusterHealth,
    layout: Layout,
}

/// Learns the map, until the task is aborted. After a panic it starts again with a pause.
pub(super) async fn run(cluster: Arc<ClusterShared>) {
    while unless_it_panics("a Cluster's topology refresh", learn_always(&cluster))
        .await
        .is_none()
    {
        tokio::time::sleep(LONGEST_PAUSE).await;
    }
}

async fn learn_always(cluster: &Arc<ClusterShared>) {
    let mut pause = FIRST_PAUSE;
    let mut known: Option<(u64, Instant)> = None;
    let mut logged = String::new();
    loop {
        let epoch = known.filter(|(_, at)| at.elapsed() < EPOCH_LASTS);
        let learned = cluster.learn(epoch.map_or(0, |(epoch, _)| epoch)).await;
        let is_learned = learned.is_ok();
        match learned {
            Ok(told) => {
                known = Some((told.health.epoch, Instant::now()));
                cluster.apply(told.layout);
                logged.clear();
            }
            Err(reason) => {
                let text = reason.to_string();
                if logged != text {
                    log!(warn, pool = %cluster.name, reason = %text, "the Cluster's slots cannot be learned");
                    logged = text;
                }
                cluster.metrics.record_error(&reason);
                cluster.state.lock().why = Some(reason);
            }
        }
        cluster.state.lock().is_settled = true;
        cluster.settled.notify_waiters();
        let had_parked = cluster.unpark();
        let is_quiet = is_learned && !had_parked && cluster.is_whole();
        // The shortest interval, however many calls are refused.
        tokio::time::sleep(jittered(pause)).await;
        let since = Instant::now();
        if is_quiet {
            // A master in trouble notifies.
            let _ = timeout(jittered(EVERY), cluster.news.notified()).await;
        }
        pause = if since.elapsed() > LONGEST_PAUSE {
            FIRST_PAUSE
        } else {
            (pause * 2).min(LONGEST_PAUSE)
        };
    }
}

impl ClusterShared {
    /// The view of the first server that sees the whole Cluster and is not behind `epoch`; otherwise
    /// the view of the server that knows best.
    async fn learn(&self, epoch: u64) -> Result<ClusterView, NodeError> {
        let mut candidates = self.candidates().into_iter();
        let mut asking = JoinSet::new();
        let mut best: Option<ClusterView> = None;
        let mut reason = not_connected("no server of the Cluster is known");
        loop {
            let next = candidates.next();
            let is_last = next.is_none();
            if let Some(server) = next {
                asking.spawn(ask_within(server, self.options.connect_timeout));
            }
            let answer = if is_last {
                asking.join_next().await
            } else {
                match timeout(HEDGE, asking.join_next()).await {
                    Ok(answer) => answer,
                    // The server may still answer; meanwhile the next one is asked.
                    Err(_) => continue,
                }
            };
            match answer {
                Some(Ok(Ok(told))) if told.health.is_ok && told.health.epoch >= epoch => {
                    return Ok(told);
                }
                Some(Ok(Ok(told))) => {
                    let rank = |told: &ClusterView| (told.health.epoch, told.health.is_ok);
                    if best.as_ref().is_none_or(|best| rank(best) < rank(&told)) {
                        best = Some(told);
                    }
                }
                Some(Ok(Err(error))) => reason = error,
                // The task panicked, or the runtime is ending.
                Some(Err(_)) => {}
                None => break,
            }
        }
        match best {
            Some(told) if told.health.epoch >= epoch => Ok(told),
            Some(_) => Err(not_connected(
                "the servers that can be reached have not heard of the last failover",
            )),
            None => Err(reason),
        }
    }

    /// The servers to ask, in order: masters that answer, then all other known servers.
    fn candidates(&self) -> Vec<Server> {
        let map = self.map();
        let mut shuffled: Vec<&Arc<Shard>> = map.shards.iter().collect();
        shuffled.shuffle(&mut rand::rng());
        let answers = |shard: &Shard| matches!(shard.link.inbox.status(), NodeStatus::Voting);
        let (well, ill): (Vec<_>, Vec<_>) = shuffled.into_iter().partition(|it| answers(it));
        let masters = |shards: Vec<&Arc<Shard>>| {
            shards
                .into_iter()
                .map(|shard| shard.server.clone())
                .collect::<Vec<_>>()
        };
        let mut replicas = map.replicas.clone();
        replicas.shuffle(&mut rand::rng());
        let mut seeds = self.seeds.clone();
        seeds.shuffle(&mut rand::rng());
        let mut candidates: Vec<Server> = Vec::new();
        for server in [masters(well), replicas, seeds, masters(ill)].concat() {
            if !candidates.contains(&server) {
                candidates.push(server);
            }
        }
        candidates
    }

    /// Replaces the map: new masters get drivers, masters without slots are retired, and releases owed
    /// to a master that does not have their slots go to the present one.
    pub(super) fn apply(self: &Arc<Self>, layout: Layout) {
        let old = self.map();
        let new = SlotMap::of(layout, &old, |range| self.start_shard(range));
        let stays = |shard: &Arc<Shard>| new.shards.iter().any(|it| Arc::ptr_eq(it, shard));
        let gone = old.shards.iter().filter(|shard| !stays(shard));
        let gone: Vec<_> = gone.cloned().collect();
        {
            // In one step: a reader of the sums finds each master in one of them.
            let mut state = self.state.lock();
            state.retired.retain(|inbox| !inbox.drained());
            for shard in &gone {
                self.metrics.add_retired(shard.link.health());
                state.retired.push(Arc::clone(&shard.link.inbox));
            }
            self.replace_map(new);
        }

        let map = self.map();
        let moving = self.moving.lock();
        for shard in &gone {
            let detail = format!("{} is no longer a master of the Cluster", shard.server);
            // To its successor before new acquisitions, as the successor is not connected yet.
            let owed = shard.link.inbox.retire(not_connected(detail));
            self.deliver_all_owed(owed);
        }
        for shard in &map.shards {
            let is_here = |slot| map.owner(slot).is_some_and(|it| Arc::ptr_eq(it, shard));
            let inbox = &shard.link.inbox;
            let misplaced = inbox.take_owed(|call| !is_here(slot_of(call.first_key())));
            self.deliver_all_owed(misplaced);
        }
        drop(moving);
        for shard in gone {
            log!(
                info,
                pool = %self.name, server = %shard.server,
                "server is no longer a master of the Cluster",
            );
        }
    }

    /// True if every slot has a master that votes.
    fn is_whole(&self) -> bool {
        matches!(self.map().status(), NodeStatus::Voting)
    }
}

async fn ask_within(server: Server, longest: Duration) -> Result<ClusterView, NodeError> {
    let told = timeout(longest, ask(&server)).await;
    told.unwrap_or_else(|_| {
        let detail = format!("{server}: no answer within {}", Brief(longest));
        Err(not_connected(detail))
    })
}

/// Asks one server for its view of the Cluster, on a connection of its own.
async fn ask(server: &Server) -> Result<ClusterView, NodeError> {
    let named = |error: NodeError| not_connected(format!("{server}: {error}"));
    let mut stream = dial(server).await.map_err(named)?;
    let mut buffer = BytesMut::new();
    greet(&mut *stream, &mut buffer, &server.login)
        .await
        .map_err(named)?;
    let [info, slots] =
        ["INFO", "SLOTS"].map(|what| pack([b"CLUSTER".as_slice(), what.as_bytes()].into_iter()));
    let text = |value: &Value<'_>| match value {
        Value::Bulk(text) => ClusterHealth::read(&String::from_utf8_lossy(text)),
        _ => ClusterHealth::default(),
    };
    let health = exchange(&mut *stream, &mut buffer, &info, text).await;
    let health = match health.map_err(named)? {
        Ok(health) => health,
        // The ACL hides it: the first server is believed then.
        Err(error) if error.starts_with("NOPERM") => ClusterHealth {
            is_ok: true,
            epoch: 0,
        },
        Err(error) if error.contains("cluster support disabled") => {
            return Err(refused(format!(
                "{server} is no part of a Redis Cluster; write redis:// in the pool's URL",
            )));
        }
        Err(error) => return Err(named(not_connected(error))),
    };
    let read = |value: &Value<'_>| Layout::read(value, server);
    let layout = exchange(&mut *stream, &mut buffer, &slots, read).await;
    let layout = layout.map_err(named)?;
    let problem = match layout.map_err(|error| named(not_connected(error)))? {
        Some(layout) if !layout.ranges.is_empty() => return Ok(ClusterView { health, layout }),
        Some(_) => "it has joined no Cluster, or one without slots",
        None => "its answer to CLUSTER SLOTS is not valid",
    };
    Err(named(not_connected(problem)))
}
