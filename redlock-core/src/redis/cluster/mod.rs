//! A Redis Cluster as one node.
//!
//! The *map* ([`map`]) says which master has which slot. If a master answers that it does not have a slot, or is in
//! trouble, the *topology refresh* ([`refresh`]) learns the map anew.
#![doc = include_str!("protocol.md")]

mod layout;
mod map;
mod refresh;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::env::io_thread::IoThread;
use crate::node::hash_slot::{slot_of, slot_of_all};
use crate::node::watch::Watch;
use crate::node::{Answer, Call, NodeError, NodeHealth, NodeStatus, Reply};

use super::address::{RedisAddress, Server};
use super::connection::errors::not_connected;
use super::connection::vetting::Facts;
use super::options::{RedisOptions, Vetting};
use super::server::inbox::{Inbox, Owed, Part, Submission, WholeCluster};
use super::server::link::Link;
use super::server::metrics::NodeMetrics;
use layout::Range;
use map::SlotMap;

/// The most releases that are kept while no master takes them. Beyond it the oldest are dropped, and
/// their keys expire at the ttl.
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
    /// Held while releases go from one master to another.
    moving: Mutex<()>,
    /// Wakes the topology refresh: the map seems to be wrong.
    news: Notify,
    /// Notified when the first attempt to learn the map is over.
    settled: Notify,
    /// The figures of retired masters, so that no counter decreases, and errors without a master.
    metrics: NodeMetrics,
}

#[derive(Default)]
struct ClusterState {
    is_settled: bool,
    /// The reason why there is no map yet.
    why: Option<NodeError>,
    /// Of masters that are no longer on the map, whose drivers may still have calls.
    retired: Vec<Arc<Inbox>>,
    /// Releases for slots without a master.
    parked: VecDeque<Owed>,
}

/// One master.
struct Shard {
    server: Server,
    /// The Cluster's own name of it.
    id: Option<String>,
    link: Link,
}

impl Cluster {
    /// Begins to learn the masters' addresses from one of `seeds`, and to connect to them.
    pub(super) fn start(
        name: &Arc<str>,
        seeds: Vec<Server>,
        options: RedisOptions,
        io: &IoThread,
    ) -> Self {
        let shared = ClusterShared::new(name, seeds, options, io);
        let refresh = io.handle().spawn(refresh::run(Arc::clone(&shared)));
        Self {
            shared,
            refresh: refresh.abort_handle(),
        }
    }

    pub(super) async fn settled(&self) {
        loop {
            let settled = self.shared.settled.notified();
            if self.shared.state.lock().is_settled {
                break;
            }
            settled.await;
        }
        for shard in &self.shared.map().shards {
            shard.link.inbox.settled().await;
        }
    }

    pub(super) fn submit(&self, call: Arc<Call>, reply: Reply) {
        self.shared.deliver(Submission::new(call, reply));
    }

    /// True if no master has anything left to do, and no release waits for a better map.
    pub(super) fn drained(&self) -> bool {
        // Locked, so that nothing moves to a master that was asked already.
        let _moving = self.shared.moving.lock();
        let state = self.shared.state.lock();
        let map = self.shared.map();
        let present = map.shards.iter().map(|shard| &shard.link.inbox);
        let mut inboxes = present.chain(&state.retired);
        state.parked.is_empty() && inboxes.all(|inbox| inbox.drained())
    }

    pub(super) fn watch(&self, watch: Watch) {
        let map = self.shared.map();
        // Without a master the watch is dropped, which reports that.
        if let Some(shard) = map.owner(slot_of_all(watch.keys())) {
            shard.link.tracking.watch(watch);
        }
    }

    pub(super) fn status(&self) -> NodeStatus {
        let map = self.shared.map();
        if map.shards.is_empty() {
            NodeStatus::Abstaining(self.shared.unmapped())
        } else {
            map.status()
        }
    }

    /// The health of all masters together.
    pub(super) fn health(&self) -> NodeHealth {
        self.shared.health()
    }

    pub(super) fn shares_a_master_with(&self, other: &Self) -> bool {
        let (one, other) = (self.shared.map(), other.shared.map());
        !one.ids.is_disjoint(&other.ids)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.refresh.abort();
        // Dropped outside of the mutex: that ends the drivers.
        let map = self.shared.replace_map(SlotMap::default());
        drop(map);
    }
}

impl ClusterShared {
    fn new(
        name: &Arc<str>,
        seeds: Vec<Server>,
        mut options: RedisOptions,
        io: &IoThread,
    ) -> Arc<Self> {
        options.checked_set = None;
        options.trust_aof = false;
        Arc::new(Self {
            name: Arc::clone(name),
            seeds,
            options,
            io: io.clone(),
            map: RwLock::default(),
            state: Mutex::default(),
            moving: Mutex::default(),
            news: Notify::new(),
            settled: Notify::new(),
            metrics: NodeMetrics::new(),
        })
    }

    fn map(&self) -> Arc<SlotMap> {
        Arc::clone(&self.map.read())
    }

    fn replace_map(&self, map: SlotMap) -> Arc<SlotMap> {
        std::mem::replace(&mut self.map.write(), Arc::new(map))
    }

    fn health(&self) -> NodeHealth {
        // Locked, so that no master moves from one sum to the other meanwhile.
        let _state = self.state.lock();
        let map = self.map();
        let present = map.shards.iter().map(|shard| shard.link.health());
        NodeHealth::of_parts(present).and_past(self.metrics.health(self.io.time().now()))
    }

    /// Hands a submission to the master of its slot.
    fn deliver(&self, mut submission: Submission) {
        let slot = slot_of(submission.call.first_key());
        loop {
            let map = self.map();
            let Some(shard) = map.owner(slot) else {
                return self.fail(submission, self.unmapped());
            };
            // A master is retired once there is a map without it.
            match shard.link.inbox.deliver(submission) {
                Ok(()) => return,
                Err(back) => submission = back,
            }
        }
    }

    /// Answers an operation that was certainly not served. A release is sent again later.
    fn fail(&self, submission: Submission, error: NodeError) {
        self.metrics.failed(error.kind(), 1);
        if let Some(owed) = submission.owed(&self.io.time()) {
            self.park(owed);
        }
        submission.reply.answer(Answer::Failed(error));
    }

    /// Keeps a release until the map is known better.
    fn park(&self, owed: Owed) {
        {
            let mut state = self.state.lock();
            if state.parked.len() == MOST_PARKED {
                state.parked.pop_front();
            }
            state.parked.push_back(owed);
        }
        self.news.notify_one();
    }

    /// Sends the parked releases to the masters of their slots. False if there were none.
    fn unpark(&self) -> bool {
        let _moving = self.moving.lock();
        let parked = std::mem::take(&mut self.state.lock().parked);
        let is_any = !parked.is_empty();
        self.deliver_all_owed(parked);
        is_any
    }

    /// Hands releases that other masters did not serve to the present masters of their slots. Call it with `moving`
    /// locked.
    fn deliver_all_owed(&self, owed: impl IntoIterator<Item = Owed>) {
        let now = self.io.time().now();
        for owed in owed.into_iter().filter(|owed| owed.until > now) {
            self.deliver(Submission::of_owed(owed));
        }
    }

    /// The error for a slot without a known master.
    fn unmapped(&self) -> NodeError {
        if self.map().shards.is_empty() {
            let why = self.state.lock().why.clone();
            why.unwrap_or_else(|| not_connected("the Cluster's slots are not known yet"))
        } else {
            not_connected("no master of the Cluster has the key's slot")
        }
    }

    /// The master of `range`, with a driver of its own.
    fn start_shard(self: &Arc<Self>, range: &Range) -> Arc<Shard> {
        let server = range.master.clone();
        let address = Arc::new(RedisAddress::of_server(server.clone()));
        let cluster: Weak<dyn WholeCluster> = Arc::<Self>::downgrade(self);
        let part = Part::new(cluster, server.clone());
        let options = self.options.clone();
        let link = Link::start(&self.name, &address, options, Some(part), &self.io);
        let id = range.id.clone();
        Arc::new(Shard { server, id, link })
    }
}

impl WholeCluster for ClusterShared {
    fn alarm(&self) {
        self.news.notify_one();
    }

    fn vet(
        &self,
        server: &Server,
        facts: &Facts,
        vetting: Vetting,
    ) -> Result<Vec<String>, NodeError> {
        if facts.is_replica() {
            let detail = "it has become a replica; its master is not known yet";
            return Err(not_connected(detail));
        }
        let warnings = facts.judge_part(&self.name).under(vetting)?;
        let of_it = |warning| format!("{server}: {warning}");
        Ok(warnings.into_iter().map(of_it).collect())
    }

    fn adopt(&self, from: &Inbox) {
        let _moving = self.moving.lock();
        self.deliver_all_owed(from.take_owed(|_| true));
    }
}

#[cfg(test)]
mod tests;
