//! A Redis Cluster as one node.
//!
//! The *map* ([`map`]) says which master has which slot. The *topology refresh* learns the map again if a master does
//! not serve a call, or falls silent.
#![doc = include_str!("one_vote.md")]

mod map;
mod view;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rand::seq::SliceRandom as _;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use crate::io_thread::IoThread;
use crate::logging::log_caught;
use crate::node::hash_slot::slot_of_all;
use crate::node::watch::Watch;
use crate::node::{Answer, Call, Node, NodeError, NodeHealth, NodeStatus, Submission};
use crate::panics::{RESTART_PAUSE, unless_it_panics};
use crate::targets;

use super::address::{RedisAddress, Server, Target};
use super::backoff::{Backoff, LONGEST_CONNECT_PAUSE};
use super::errors::not_connected;
use super::inbox::metrics::NodeMetrics;
use super::latest_answer::{DatedAnswer, latest_answer};
use super::options::RedisOptions;
use super::server::ServerNode;
use map::{Shard, SlotMap};
use view::Range;

/// The interval at which the map is learned while there is no trouble.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);

/// The number of servers that are asked at once for the map.
const SERVERS_ASKED: usize = 3;

/// A Redis Cluster as one node. Dropping it ends its drivers once they have sent all submitted operations.
pub(super) struct Cluster {
    shared: Arc<ClusterShared>,
    refresh: AbortHandle,
}

struct ClusterShared {
    name: Arc<str>,
    seeds: Vec<Server>,
    options: RedisOptions,
    io: IoThread,
    /// The current map. Only the I/O thread replaces it, and always as a whole.
    map: RwLock<Arc<SlotMap>>,
    /// The reason why the map is unknown.
    no_map_reason: Mutex<NodeError>,
    /// Masters that have left the map, but may still owe releases.
    retired: Mutex<Vec<Arc<Shard>>>,
    /// A semaphore that is closed once the first attempt to learn the map is over.
    settled: Semaphore,
    /// The figures of all masters. Their `trouble` wakes the topology refresh, because the map may be wrong.
    metrics: Arc<NodeMetrics>,
}

impl Cluster {
    /// Starts to learn the map from `seeds`, and to connect to the masters in it.
    pub(super) fn start(
        name: &Arc<str>,
        seeds: Vec<Server>,
        options: RedisOptions,
        io: &IoThread,
    ) -> Self {
        let shared = Arc::new(ClusterShared {
            name: Arc::clone(name),
            seeds,
            options,
            io: io.clone(),
            map: RwLock::default(),
            no_map_reason: Mutex::new(not_connected("the Cluster's masters are not known yet")),
            retired: Mutex::default(),
            settled: Semaphore::new(0),
            metrics: Arc::default(),
        });
        let refresh = io.handle().spawn(Arc::clone(&shared).refresh());
        let refresh = refresh.abort_handle();
        Self { shared, refresh }
    }

    pub(super) async fn wait_until_settled(&self) {
        // The semaphore has no permits, so this waits until it is closed.
        let _closed = self.shared.settled.acquire().await;
        for shard in self.shared.map().shards.values() {
            shard.node.inbox.wait_until_settled().await;
        }
    }

    pub(super) fn shares_a_master_with(&self, other: &Self) -> bool {
        let (one, other) = (self.shared.map(), other.shared.map());
        one.shards.keys().any(|id| other.shards.contains_key(id))
    }
}

/// The epoch stays zero, because the restart check leaves out the masters of a Cluster.
impl Node for Cluster {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn has_hash_slots(&self) -> bool {
        true
    }

    fn submit(&self, submission: Submission) {
        let map = self.shared.map();
        if let Some(shard) = map.owner(submission.call()) {
            return shard.node.inbox.submit(submission);
        }
        // A node that never had a map has granted nothing, so a release has nothing to undo.
        let why = self.shared.no_map_reason.lock().clone();
        self.shared.metrics.record_failed(&why, 1);
        submission.answer(Answer::Failed(why));
    }

    /// True if every master is drained, including retired ones.
    fn drained(&self) -> bool {
        // The mutex keeps owed releases from moving between masters during the check.
        let retired = self.shared.retired.lock();
        let map = self.shared.map();
        let mut shards = map.shards.values().chain(&*retired);
        shards.all(|shard| shard.node.inbox.drained())
    }

    fn dispatched(&self) -> bool {
        let map = self.shared.map();
        map.shards.values().all(|it| it.node.inbox.dispatched())
    }

    fn watch(&self, watch: Watch) {
        let map = self.shared.map();
        // If the map is empty, the watch is dropped, which reports `Unknown` to its caller.
        if let Some(shard) = map.owner_of(slot_of_all(watch.keys())) {
            shard.node.inbox.watch(watch);
        }
    }

    fn status(&self) -> NodeStatus {
        let map = self.shared.map();
        if map.shards.is_empty() {
            return NodeStatus::Abstaining(self.shared.no_map_reason.lock().clone());
        }
        map.status()
    }

    fn health(&self) -> NodeHealth {
        let mut health = self.shared.metrics.health(self.shared.io.time().now());
        let map = self.shared.map();
        let in_flight = map.shards.values().map(|it| it.node.inbox.in_flight());
        health.in_flight = in_flight.sum();
        health
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.refresh.abort();
    }
}

impl ClusterShared {
    fn map(&self) -> Arc<SlotMap> {
        Arc::clone(&self.map.read())
    }

    /// Runs the topology refresh, which learns the map again and again. If it panics, it starts again after a pause.
    async fn refresh(self: Arc<Self>) {
        loop {
            unless_it_panics("a Cluster's topology refresh", self.learn_always()).await;
            sleep(RESTART_PAUSE).await;
        }
    }

    async fn learn_always(&self) {
        let (mut backoff, mut known, mut logged) = (Backoff::new(), 0, String::new());
        loop {
            // Ask in random order. Otherwise servers that are gone or replaced could always come first.
            let map = self.map();
            let masters = map.shards.values().map(|it| &it.server);
            let mut servers: Vec<_> = masters.chain(&self.seeds).cloned().collect();
            servers.shuffle(&mut rand::rng());
            servers.truncate(SERVERS_ASKED);
            let within = self.options.connect_timeout;
            let is_enough = |told: &[DatedAnswer<_>]| told.iter().any(|it| it.failover >= known);
            let ask = |server| view::ask_for_view(server, &self.io);
            match latest_answer(&servers, ask, within, &self.io.time(), is_enough).await {
                Ok(told) => {
                    known = told.failover;
                    logged.clear();
                    self.apply(told.answer).await;
                }
                Err(why) => {
                    let reason = why.to_string();
                    self.metrics.record_error(&why);
                    if logged != reason {
                        log_caught!(warn!(
                            target: targets::NODE, pool = %self.name, %reason,
                            "the Cluster's slots cannot be learned"
                        ));
                    }
                    logged = reason;
                    *self.no_map_reason.lock() = why;
                }
            }
            self.settled.close();
            // Pause after each map, even if there is more trouble already.
            sleep(backoff.next()).await;
            let since = Instant::now();
            // A master that does not vote or owes releases reports trouble at least once a second.
            let _ = timeout(REFRESH_INTERVAL, self.metrics.trouble.notified()).await;
            if since.elapsed() >= LONGEST_CONNECT_PAUSE {
                backoff = Backoff::new();
            }
        }
    }

    /// Replaces the map. Connects to new masters, and retires masters that have left the map.
    async fn apply(&self, ranges: Vec<Range>) {
        let old = self.map();
        let mut new = SlotMap::default();
        for range in ranges {
            let shard = new.shards.entry(range.id).or_insert_with_key(|id| {
                let known = old.shards.get(id).filter(|it| it.leads_to(&range.master));
                known.map_or_else(|| self.start_shard(range.master), Arc::clone)
            });
            new.ranges
                .insert(range.first, (range.last, Arc::clone(shard)));
        }
        let stays = |shard: &&Arc<Shard>| new.shards.values().any(|it| Arc::ptr_eq(it, shard));
        let gone = old.shards.values().filter(|it| !stays(it));
        let gone: Vec<_> = gone.cloned().collect();
        for shard in &gone {
            // Cut an old master off now: it could still grant a lock that its successor has granted too.
            shard.node.cut_off().await;
        }
        self.retired.lock().extend(gone);
        *self.map.write() = Arc::new(new);
        drop(old);
        // The successors are not connected yet, so these releases reach them before any acquisition.
        self.deliver_owed();
    }

    fn start_shard(&self, server: Server) -> Arc<Shard> {
        let address = Arc::new(RedisAddress(Target::Server(server.clone())));
        let (mut options, metrics) = (self.options.clone(), Some(Arc::clone(&self.metrics)));
        options.checked_set = options.checked_set.map(|it| Arc::new(it.of_a_part()));
        let node = ServerNode::start(&self.name, &address, options, metrics, &self.io);
        Arc::new(Shard { server, node })
    }

    /// Moves owed releases to the masters that now have their slots. Then forgets retired masters that owe no release.
    fn deliver_owed(&self) {
        let map = self.map();
        let mut retired = self.retired.lock();
        for shard in map.shards.values().chain(&*retired) {
            let elsewhere = |call: &Call| map.owner(call).filter(|it| !Arc::ptr_eq(it, shard));
            for owed in shard.node.inbox.take_owed(|call| elsewhere(call).is_some()) {
                if let Some(owner) = map.owner(owed.call()) {
                    owner.node.inbox.queue(owed);
                }
            }
        }
        // Keep a retired master while a caller has an old map: that caller may still submit a release.
        retired.retain(|shard| Arc::strong_count(shard) > 1 || !shard.node.inbox.drained());
    }
}

#[cfg(test)]
mod tests;
