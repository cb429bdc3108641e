//! A Redis Cluster as one node.
//!
//! The *map* ([`map`]) says which master has which slot. If a master does not serve a call, or says nothing, the *topology
//! refresh* ([`refresh`]) learns the map anew.
#![doc = include_str!("protocol.md")]

mod map;
mod refresh;
mod view;

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;

use crate::env::caught::log;
use crate::env::io_thread::IoThread;
use crate::node::hash_slot::{slot_of, slot_of_all};
use crate::node::watch::Watch;
use crate::node::{Answer, Call, Node, NodeError, NodeHealth, NodeStatus, Reply};

use super::address::{RedisAddress, Server};
use super::errors::not_connected;
use super::inbox::metrics::NodeMetrics;
use super::inbox::{Owed, Submission};
use super::options::RedisOptions;
use super::server::ServerNode;
use map::{Shard, SlotMap};
use view::Range;

/// The most releases that are kept for slots without a master. The keys of others expire at the ttl.
const MOST_PARKED: usize = 65_536;

/// The handle. Dropping it ends the drivers, once all submitted operations have been sent.
pub(super) struct Cluster {
    shared: Arc<ClusterShared>,
    refresh: AbortHandle,
}

struct ClusterShared {
    name: Arc<str>,
    seeds: Vec<Server>,
    options: RedisOptions,
    io: IoThread,
    /// Replaced as a whole, only on the I/O thread.
    map: RwLock<Arc<SlotMap>>,
    state: Mutex<ClusterState>,
    /// Wakes the topology refresh: the map seems to be wrong.
    news: Arc<Notify>,
    /// Closed when the first attempt to learn the map is over.
    settled: Semaphore,
    /// Errors without a master.
    metrics: NodeMetrics,
}

#[derive(Default)]
struct ClusterState {
    /// The reason why the map could not be learned last.
    why: Option<NodeError>,
    /// Masters that are no longer on the map and may still owe releases.
    retired: Vec<Arc<Shard>>,
    /// Releases for slots without a master.
    parked: Vec<Owed>,
    /// The sums of masters that are gone, so that no counter decreases.
    past: NodeHealth,
}

impl Cluster {
    /// Begins to learn the masters' addresses from one of `seeds`, and to connect to them.
    pub(super) fn start(
        name: &Arc<str>,
        seeds: Vec<Server>,
        mut options: RedisOptions,
        io: &IoThread,
    ) -> Self {
        options.checked_set = None;
        options.trust_aof = false;
        let shared = Arc::new(ClusterShared {
            name: Arc::clone(name),
            seeds,
            options,
            io: io.clone(),
            map: RwLock::default(),
            state: Mutex::default(),
            news: Arc::default(),
            settled: Semaphore::new(0),
            metrics: NodeMetrics::new(None),
        });
        let refresh = io.handle().spawn(refresh::run(Arc::clone(&shared)));
        Self {
            shared,
            refresh: refresh.abort_handle(),
        }
    }

    pub(super) async fn settled(&self) {
        // Nobody gets a permit.
        let _closed = self.shared.settled.acquire().await;
        for shard in &self.shared.map().shards {
            shard.node.inbox.settled().await;
        }
    }

    pub(super) fn shares_a_master_with(&self, other: &Self) -> bool {
        let (one, other) = (self.shared.map(), other.shared.map());
        let mut ids = one.shards.iter().filter_map(|it| it.id.as_ref());
        ids.any(|id| other.shards.iter().any(|it| it.id.as_ref() == Some(id)))
    }
}

/// The restart check does not cover the masters, so the epoch stays zero.
impl Node for Cluster {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn has_hash_slots(&self) -> bool {
        true
    }

    fn submit(&self, call: Arc<Call>, reply: Reply) {
        let map = self.shared.map();
        match map.owner(slot_of(call.first_key())) {
            Some(shard) => shard.node.inbox.submit(call, reply),
            None => self.shared.fail(Submission::new(call, reply)),
        }
    }

    /// True if no master has anything left to do, and no release waits for a better map.
    fn drained(&self) -> bool {
        // Locked, so that no release is on its way between masters.
        let state = self.shared.state.lock();
        let (map, now) = (self.shared.map(), self.shared.io.time().now());
        let mut shards = map.shards.iter().chain(&state.retired);
        shards.all(|shard| shard.node.inbox.drained())
            && state.parked.iter().all(|owed| owed.until <= now)
    }

    fn dispatched(&self) -> bool {
        let map = self.shared.map();
        map.shards.iter().all(|shard| shard.node.inbox.dispatched())
    }

    fn watch(&self, watch: Watch) {
        let map = self.shared.map();
        // Without a master the watch is dropped, which reports that.
        if let Some(shard) = map.owner(slot_of_all(watch.keys())) {
            shard.node.inbox.watch(watch);
        }
    }

    fn status(&self) -> NodeStatus {
        let status = self.shared.map().status();
        status.unwrap_or_else(|| NodeStatus::Abstaining(self.shared.unmapped()))
    }

    /// The health of all masters together.
    fn health(&self) -> NodeHealth {
        let shared = &self.shared;
        // Locked, so that no master moves from one sum to the other meanwhile.
        let state = shared.state.lock();
        let map = shared.map();
        let shards = map.shards.iter().chain(&state.retired);
        let healths = shards.map(|shard| shard.node.inbox.health());
        let present = healths.fold(NodeHealth::default(), NodeHealth::and);
        let own = shared.metrics.health(shared.io.time().now());
        present.and_past(own).and_past(state.past.clone())
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

    /// True if every slot has a master that votes, and no release is owed.
    fn is_quiet(&self) -> bool {
        let (map, now) = (self.map(), self.io.time().now());
        let state = self.state.lock();
        state.retired.is_empty()
            && state.parked.is_empty()
            && matches!(map.status(), Some(NodeStatus::Voting))
            && !map.shards.iter().any(|it| it.node.inbox.owes(now))
    }

    /// Replaces the map: new masters get connections, and masters without slots are retired.
    async fn apply(&self, ranges: &[Range]) {
        let old = self.map();
        let mut new = SlotMap::default();
        for range in ranges {
            let known = new.shards.iter().find(|it| it.is_of(range)).cloned();
            let shard = known.unwrap_or_else(|| {
                let mut before = old.shards.iter();
                let stays = before.find(|it| it.may_stay(range)).cloned();
                let shard = stays.unwrap_or_else(|| self.start_shard(range));
                new.shards.push(Arc::clone(&shard));
                shard
            });
            new.ranges.insert(range.first, (range.last, shard));
        }
        let stays = |shard: &&Arc<Shard>| new.shards.iter().any(|it| Arc::ptr_eq(it, shard));
        let gone: Vec<_> = old.shards.iter().filter(|it| !stays(it)).cloned().collect();
        for shard in &gone {
            // Its word no longer counts: it may yet grant what its successor has granted.
            shard.node.cut_off().await;
            log!(
                info,
                pool = %self.name, server = %shard.server,
                "server is no longer a master of the Cluster",
            );
        }
        {
            // In one step: a reader of the sums finds each master once.
            let mut state = self.state.lock();
            state.retired.extend(gone);
            *self.map.write() = Arc::new(new);
        }
        drop(old);
        // The successors are not connected yet, so these releases reach them before any acquisition.
        self.deliver_owed();
    }

    fn start_shard(&self, range: &Range) -> Arc<Shard> {
        let server = range.master.clone();
        let address = Arc::new(RedisAddress::of_server(server.clone()));
        let (options, news) = (self.options.clone(), Some(Arc::clone(&self.news)));
        Arc::new(Shard {
            node: ServerNode::start(&self.name, &address, options, news, &self.io),
            id: range.id.clone(),
            server,
        })
    }

    /// Answers an operation that no master can be asked for. A release is sent later.
    fn fail(&self, submission: Submission) {
        let error = self.unmapped();
        self.metrics.failed(error.kind(), 1);
        if let Some(owed) = submission.owed(&self.io.time()) {
            self.state.lock().park(owed);
        }
        self.news.notify_one();
        submission.reply.answer(Answer::Failed(error));
    }

    /// The error for a slot without a known master.
    fn unmapped(&self) -> NodeError {
        let why = self.state.lock().why.clone();
        why.unwrap_or_else(|| not_connected("slots of the Cluster have no known master"))
    }

    /// Hands releases that masters owe without having their slots to the present masters, and forgets retired masters
    /// that owe nothing.
    fn deliver_owed(&self) {
        let (map, now) = (self.map(), self.io.time().now());
        let mut state = self.state.lock();
        let mut owed = std::mem::take(&mut state.parked);
        for shard in map.shards.iter().chain(&state.retired) {
            let is_elsewhere = |call: &Call| !map.is_owner(slot_of(call.first_key()), shard);
            owed.extend(shard.node.inbox.take_owed(is_elsewhere));
        }
        for owed in owed.into_iter().filter(|owed| owed.until > now) {
            match map.owner(slot_of(owed.call.first_key())) {
                Some(shard) => shard.node.inbox.queue(Submission::of_owed(owed)),
                None => state.park(owed),
            }
        }
        // A caller that still has an old map may submit one more release.
        let is_gone =
            |shard: &mut Arc<Shard>| Arc::strong_count(shard) == 1 && shard.node.inbox.drained();
        let ClusterState { retired, past, .. } = &mut *state;
        for shard in retired.extract_if(.., is_gone) {
            let mut health = shard.node.inbox.health();
            health.last_error = None;
            *past = std::mem::take(past).and_past(health);
        }
    }
}

impl ClusterState {
    fn park(&mut self, owed: Owed) {
        if self.parked.len() < MOST_PARKED {
            self.parked.push(owed);
        }
    }
}

#[cfg(test)]
mod tests;
