//! A Redis Cluster as one node.
//!
//! The *map* ([`map`]) says which master has which slot. A master answers what it no longer has with the
//! way to the master that has it (`MOVED`, `ASK`), which is followed ([`redirect`]). Then, and if a master
//! is in trouble, the *topology refresh* ([`refresh`]) learns the map anew.
#![doc = include_str!("protocol.md")]

mod layout;
mod map;
mod redirect;
mod refresh;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::env::io_thread::IoThread;
use crate::node::hash_slot::{slot_of, slot_of_all};
use crate::node::watch::Watch;
use crate::node::{Answer, NodeError, NodeHealth, NodeStatus, Reply};
use crate::node::{Call, Effect};

use super::address::{RedisAddress, Server};
use super::connection::errors::not_connected;
use super::options::RedisOptions;
use super::server::inbox::{Owed, Part, Route, Submission, WholeCluster};
use super::server::link::Link;
use super::server::metrics::NodeMetrics;
use map::SlotMap;

/// The most releases that are kept while no master takes them. Beyond it the oldest are dropped, and
/// their keys expire at the ttl.
const MOST_PARKED: usize = 65_536;

/// The most masters without slots that have a driver: masters that are about to get their first slot.
const MOST_GUESTS: usize = 16;

/// A master without slots is dropped if no operation was sent to it for this time.
const GUEST_STAYS: Duration = Duration::from_secs(10);

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
    /// Masters outside of the map, with the time of the last operation for each.
    guests: Vec<(Arc<Shard>, Instant)>,
    /// Releases that no master takes at present.
    parked: VecDeque<Owed>,
}

/// One master.
struct Shard {
    server: Server,
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
        let submission = Submission::new(call, reply, Route::default());
        self.shared.deliver(submission);
    }

    /// True if no master has anything left to do, and no release waits for a better map.
    pub(super) fn drained(&self) -> bool {
        // Locked, so that no master moves between the two lists meanwhile.
        let state = self.shared.state.lock();
        let map = self.shared.map();
        let guests = state.guests.iter().map(|(guest, _)| guest);
        let shards = map.shards.iter().chain(guests);
        // Each is asked twice: a master that was asked already may get a call from one that is asked later.
        let mut asked = shards.clone().chain(shards);
        state.parked.is_empty() && asked.all(|shard| shard.link.inbox.drained())
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
        let guests = std::mem::take(&mut self.shared.state.lock().guests);
        let map = self.shared.replace_map(SlotMap::default());
        // Outside of the mutexes: the drop ends the drivers.
        drop((guests, map));
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
        let state = self.state.lock();
        let map = self.map();
        let guests = state.guests.iter().map(|(guest, _)| guest);
        let present = map.shards.iter().chain(guests);
        let present = present.map(|shard| shard.link.health());
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
        let (call, route) = (&submission.call, submission.route);
        self.park(Owed::for_release(call, route, &self.io.time()));
        submission.reply.answer(Answer::Failed(error));
    }

    /// Keeps releases until the map is known better.
    fn park(&self, owed: impl IntoIterator<Item = Owed>) {
        let mut owed = owed.into_iter().peekable();
        if owed.peek().is_none() {
            return;
        }
        {
            let mut state = self.state.lock();
            for owed in owed {
                if state.parked.len() == MOST_PARKED {
                    state.parked.pop_front();
                }
                state.parked.push_back(owed);
            }
        }
        self.news.notify_one();
    }

    /// Sends the parked releases to the masters of their slots. False if there were none.
    fn unpark(&self) -> bool {
        let parked = std::mem::take(&mut self.state.lock().parked);
        let is_any = !parked.is_empty();
        self.deliver_all_owed(parked);
        is_any
    }

    /// Hands releases that other masters did not receive to the present masters of their slots.
    fn deliver_all_owed(&self, owed: impl IntoIterator<Item = Owed>) {
        let now = self.io.time().now();
        for Owed { call, until } in owed {
            if until > now {
                let route = Route {
                    owed_until: Some(until),
                    ..Route::default()
                };
                self.deliver(Submission::new(call, Reply::to_nobody(), route));
            }
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

    /// A master with a driver of its own.
    fn start_shard(self: &Arc<Self>, server: &Server) -> Arc<Shard> {
        let address = Arc::new(RedisAddress::of_server(server.clone()));
        let cluster: Weak<dyn WholeCluster> = Arc::<Self>::downgrade(self);
        let part = Part::new(cluster, server.clone());
        let options = self.options.clone();
        let link = Link::start(&self.name, &address, options, Some(part), &self.io);
        Arc::new(Shard {
            server: server.clone(),
            link,
        })
    }

    /// The master at `server`, which may have no slot yet.
    fn shard_at(self: &Arc<Self>, server: &Server) -> Option<Arc<Shard>> {
        if let Some(shard) = self.map().shard_at(server) {
            return Some(Arc::clone(shard));
        }
        let now = self.io.time().now();
        let mut state = self.state.lock();
        let mut guests = state.guests.iter_mut();
        if let Some((guest, since)) = guests.find(|(guest, _)| guest.server == *server) {
            *since = now;
            return Some(Arc::clone(guest));
        }
        if state.guests.len() == MOST_GUESTS {
            return None;
        }
        let guest = self.start_shard(server);
        state.guests.push((Arc::clone(&guest), now));
        Some(guest)
    }
}

/// True if an operation that a server did not run may be sent to another server.
fn may_follow(call: &Call, reply: &Reply) -> bool {
    match call.effect() {
        // After its release, the acquisition would set a key that nothing deletes. This is checked once
        // more before the sending, as the release may be submitted at any moment.
        Effect::Takes => !reply.is_retracted(),
        // It only helps the next extension, with the same danger.
        Effect::PutsBack => false,
        // An extension and a release compare the token with the key's value. A record behind its release costs a
        // second run at most.
        Effect::Keeps | Effect::Undoes(_) | Effect::Looks => true,
    }
}

#[cfg(test)]
mod tests;
