//! All servers, and what they are to each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_core::MemoryNode;
use redlock_core::env::{Clock, Moment};
use tokio::runtime::{Handle, Id};
use tokio::sync::Notify;

use crate::random::Random;

use super::log::Served;
use super::resp::Reply;
use super::wire::Pipe;

/// Shared by all tasks of a run, which are one thread's.
pub(super) type Shared = Arc<Mutex<Town>>;

pub(super) struct Town {
    clock: Arc<dyn Clock>,
    /// The library's runtime.
    pub(super) home: Id,
    pub(super) random: Random,
    pub(super) hosts: BTreeMap<String, Host>,
    pub(super) groups: Vec<Group>,
    pub(super) connections: BTreeMap<u64, Connection>,
    pub(super) made: u64,
    pub(super) served: Vec<Served>,
    /// When slots of a Cluster came to a master: in µs, the slot, and the master.
    pub(super) arrivals: Vec<(u64, u16, String)>,
    /// Nothing goes wrong any more.
    pub(super) is_calm: bool,
    pub(super) trace: Option<Vec<String>>,
    pub(super) counts: BTreeMap<&'static str, u64>,
}

/// One server process after another, at one address.
pub(super) struct Host {
    /// Its index in `groups`.
    pub(super) group: usize,
    pub(super) role: Role,
    pub(super) memory: MemoryNode,
    /// What it remembers of the scripts, by their hashes.
    pub(super) scripts: BTreeSet<&'static str>,
    pub(super) run_id: u64,
    pub(super) is_up: bool,
    /// Another server took its place, and it has not heard of that.
    pub(super) successor: Option<String>,
    /// It does nothing until then, in µs.
    pub(super) hangs_until: u64,
    /// It answers so to operations, until then.
    pub(super) trouble: Option<(&'static str, u64)>,
    /// The keys that connections have read, and are to be told of.
    pub(super) tracked: BTreeMap<Vec<u8>, Tracked>,
}

/// A key as it was read last, and the connections that have read it.
#[derive(Default)]
pub(super) struct Tracked {
    seen: Option<Seen>,
    readers: BTreeSet<u64>,
}

/// A key's value and its end.
type Seen = (Vec<u8>, Moment);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Master,
    Replica,
    Sentinel,
}

/// What a node is made of.
pub(super) enum Group {
    Alone,
    Watched(Watched),
    Cluster(Slots),
}

/// A master, those that may follow it, and what each sentinel says.
pub(super) struct Watched {
    pub(super) master: String,
    pub(super) epoch: u64,
    pub(super) known: BTreeMap<String, (String, u64)>,
}

/// The masters of a Cluster.
pub(super) struct Slots {
    pub(super) masters: Vec<String>,
    pub(super) epoch: u64,
    /// Slots that are another master's than they were at first.
    pub(super) moved: BTreeMap<u16, usize>,
    /// Slots on their way to another one.
    pub(super) moving: BTreeMap<u16, usize>,
    /// A slot that no master serves for a while.
    pub(super) unserved: Option<u16>,
}

impl Slots {
    pub(super) const COUNT: u16 = 16_384;

    pub(super) fn owner(&self, slot: u16) -> usize {
        let share = usize::from(Self::COUNT).div_ceil(self.masters.len());
        let first = usize::from(slot) / share;
        self.moved.get(&slot).copied().unwrap_or(first)
    }
}

/// The servers' side of one.
pub(super) struct Connection {
    pub(super) host: String,
    pub(super) pipe: Arc<Pipe>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) is_tracking: bool,
    pub(super) is_subscribed: bool,
    /// The server hears nothing more of it.
    pub(super) is_cut: bool,
}

/// What goes to a client, in order, and when.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) queue: Mutex<VecDeque<(u64, Vec<u8>)>>,
    pub(super) news: Notify,
}

impl Town {
    pub(super) fn new(clock: Arc<dyn Clock>, random: Random, is_traced: bool) -> Self {
        Self {
            clock,
            home: Handle::current().id(),
            random,
            hosts: BTreeMap::new(),
            groups: Vec::new(),
            connections: BTreeMap::new(),
            made: 0,
            served: Vec::new(),
            arrivals: Vec::new(),
            is_calm: true,
            trace: is_traced.then(Vec::new),
            counts: BTreeMap::new(),
        }
    }

    /// µs since the run began.
    pub(super) fn now(&self) -> u64 {
        let since = self
            .clock
            .now()
            .saturating_since(Moment::from_origin(Duration::ZERO));
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        let now = self.now();
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now:>9} µs {}", line()));
        }
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) fn add_host(&mut self, name: &str, role: Role) {
        let run_id = self.random.next();
        let host = Host {
            group: self.groups.len(),
            role,
            memory: self.empty_memory(),
            scripts: BTreeSet::new(),
            run_id,
            is_up: true,
            successor: None,
            hangs_until: 0,
            trouble: None,
            tracked: BTreeMap::new(),
        };
        self.hosts.insert(name.to_owned(), host);
    }

    /// Sends something to a client. It is on its way for a while, and behind all that was sent before.
    pub(super) fn send(&mut self, connection: u64, reply: &Reply) {
        let mut bytes = Vec::new();
        reply.encode(&mut bytes);
        let delay = match self.random.below(if self.is_calm { 8 } else { 40 }) {
            0..5 => 0,
            5..39 => self.random.below(3000),
            _ => self.random.below(300_000),
        };
        let due = self.now() + delay;
        if let Some(connection) = self.connections.get(&connection) {
            let mut queue = connection.outbox.queue.lock().expect("no panic");
            let due = queue.back().map_or(due, |(last, _)| due.max(*last));
            queue.push_back((due, bytes));
            connection.outbox.news.notify_one();
        }
    }

    pub(super) fn empty_memory(&self) -> MemoryNode {
        MemoryNode::new("simulated", Arc::clone(&self.clock))
    }

    fn seen(&self, host: &str, key: &[u8]) -> Option<Seen> {
        let memory = &self.hosts[host].memory;
        let ends = self.clock.now().saturating_add(memory.remaining(key)?);
        Some((memory.get(key)?, ends))
    }

    /// `connection` has read `key` on `host`.
    pub(super) fn track(&mut self, host: &str, key: &[u8], connection: u64) {
        let seen = self.seen(host, key);
        let host = self.hosts.get_mut(host).expect("a host");
        let tracked = host.tracked.entry(key.to_vec()).or_default();
        tracked.seen = seen;
        tracked.readers.insert(connection);
    }

    /// Tells of the keys on `host` that are not what they were when they were read.
    pub(super) fn tell_of_changes(&mut self, host: &str) {
        let tracked = self.hosts[host].tracked.iter();
        let changed = tracked.filter(|(key, tracked)| tracked.seen != self.seen(host, key));
        let changed: Vec<_> = changed.map(|(key, _)| key.clone()).collect();
        self.invalidate(host, &changed);
    }

    /// Tells each connection that has read `keys` on `host` that they have changed.
    pub(super) fn invalidate(&mut self, host: &str, keys: &[Vec<u8>]) {
        let mut told = Vec::new();
        let host = self.hosts.get_mut(host).expect("a host");
        for key in keys {
            for reader in host.tracked.remove(key).unwrap_or_default().readers {
                told.push((reader, key.clone()));
            }
        }
        for (reader, key) in told {
            let keys = Reply::Array(vec![Reply::Bulk(key)]);
            self.send(reader, &Reply::Push(vec![Reply::text("invalidate"), keys]));
        }
    }

    /// Everything that a server has of connections, which is what a restart ends.
    pub(super) fn connections_of(&self, host: &str) -> Vec<u64> {
        let all = self.connections.iter();
        all.filter(|(_, connection)| connection.host == host && !connection.is_cut)
            .map(|(id, _)| *id)
            .collect()
    }
}
