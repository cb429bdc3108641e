//! A simulated Redis server: core's in-process store, which is held against a real server by a
//! test, with a clock of its own and a way to die.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::operation::{Operation, Want};
use parking_lot::{Mutex, MutexGuard};
use redlock_core::env::{Clock as _, Moment};
use redlock_core::node::{Answer, KeyReport, NodeError, Remaining};
use redlock_core::restart_check::{MarkerWrite, marker_key};
use redlock_core::{MemoryNode, Resource};

use crate::clock::SkewedClock;
use crate::history::{History, Served};
use crate::world::ProcessId;

/// The data that a crashed server finds on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// Everything that it had answered.
    Whole,
    /// The data of the last [`Server::save`].
    Older,
    /// Nothing.
    Empty,
}

/// The answer of a node to a check.
pub struct Marked {
    /// The marker, after the write where there was one.
    pub marker: Option<Vec<u8>>,
    /// The node's wall clock.
    pub time: Duration,
}

/// A client that is told what becomes of some keys.
struct Lookout {
    keys: Resource,
    /// The remaining time of the keys in the last report, by the node's clock.
    told: Option<Moment>,
    listener: Box<dyn Listener>,
}

/// Takes what a client is told.
pub(crate) trait Listener: Send {
    /// True if the client wants to hear more.
    fn is_wanted(&self) -> bool;
    /// Tells it what the server sees.
    fn tell(&self, key_report: KeyReport);
}

/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// See the [module](self).
pub struct Server {
    /// Its seat among the nodes.
    pub seat: usize,
    /// The clock by which the keys expire.
    pub clock: Arc<SkewedClock>,
    history: Arc<History>,
    state: Mutex<State>,
    /// Goes up with each start: connections to an earlier one are gone.
    starts: AtomicU64,
}

struct State {
    memory: MemoryNode,
    /// Those who want to know what becomes of keys.
    lookouts: Vec<Lookout>,
    /// When the first of some permits becomes free, or has become free if one is; by their keys.
    free_from: BTreeMap<Resource, Duration>,
    saved: Option<MemoryNode>,
    is_up: bool,
    hangs_until: Duration,
    refusing: Option<Refusing>,
}

/// A server that answers with an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusing {
    pub(crate) until: Duration,
    pub(crate) error: &'static str,
}

/// Errors of servers in trouble. A server that is out of memory still deletes keys.
pub(crate) const ERRORS: [&str; 7] = [
    OUT_OF_MEMORY,
    "NOREPLICAS Not enough good replicas to write.",
    "MISCONF Errors writing to the AOF file",
    "BUSY Redis is busy running a script.",
    "LOADING Redis is loading the dataset in memory",
    "READONLY You can't write against a read only replica.",
    "NOPERM User locker has no permissions to run the 'evalsha' command",
];

const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";

impl Server {
    /// Returns an empty server that is up.
    pub fn new(seat: usize, clock: Arc<SkewedClock>, history: &Arc<History>) -> Arc<Self> {
        let memory = MemoryNode::new(format!("n{seat}"), Arc::clone(&clock) as _);
        Arc::new(Self {
            seat,
            clock,
            history: Arc::clone(history),
            state: Mutex::new(State {
                memory,
                lookouts: Vec::new(),
                free_from: BTreeMap::new(),
                saved: None,
                is_up: true,
                hangs_until: Duration::ZERO,
                refusing: None,
            }),
            starts: AtomicU64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the store, to look into.
    pub fn memory(&self) -> MemoryNode {
        self.lock().memory.clone()
    }

    /// True if it answers.
    pub fn is_up(&self) -> bool {
        self.lock().is_up
    }

    /// Returns how often it was started again: a new run id each time.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Returns until when it stands still; in the past where it does not.
    pub fn hangs_until(&self) -> Duration {
        self.lock().hangs_until
    }

    /// Stands still: what arrives waits.
    pub fn hang(&self, until: Duration) {
        let mut state = self.lock();
        state.hangs_until = state.hangs_until.max(until);
    }

    /// Answers with an error.
    pub(crate) fn refuse(&self, refusing: Refusing) {
        self.lock().refusing = Some(refusing);
    }

    /// Works again.
    pub fn wake(&self) {
        let mut state = self.lock();
        state.hangs_until = Duration::ZERO;
        state.refusing = None;
    }

    /// Returns the error that answers `operation` in place of its service, if any.
    fn refusal(&self, operation: &Operation) -> Option<Answer> {
        let refusing = self.lock().refusing?;
        let is_spared =
            refusing.error == OUT_OF_MEMORY && matches!(operation.want(), Want::Release { .. });
        let is_refused = self.history.world.now() < refusing.until && !is_spared;
        is_refused.then(|| Answer::Failed(NodeError::server(refusing.error.as_bytes())))
    }

    /// Writes its data to disk, for a crash that loses what comes after.
    pub fn save(&self) {
        let mut state = self.lock();
        state.saved = Some(state.memory.fork());
    }

    /// Goes down. What of its data is left is decided by `disk`.
    pub fn crash(&self, disk: Disk) {
        let mut state = self.lock();
        state.is_up = false;
        state.lookouts.clear();
        state.hangs_until = Duration::ZERO;
        let clock = Arc::clone(&self.clock) as _;
        match disk {
            Disk::Whole => {}
            Disk::Older => {
                if let Some(saved) = &state.saved {
                    state.memory = saved.fork();
                }
            }
            Disk::Empty => state.memory = MemoryNode::new(format!("n{}", self.seat), clock),
        }
        drop(state);
        if disk == Disk::Older {
            self.history.excuse_all(self.seat);
        }
    }

    /// Comes up again, as another run.
    pub fn start(&self) {
        self.lock().is_up = true;
        self.starts.fetch_add(1, Ordering::Relaxed);
    }

    /// Serves the restart check: one atomic step.
    pub fn check(&self, write: Option<MarkerWrite>) -> Marked {
        let (memory, key) = (self.memory(), marker_key(b""));
        let time = self.clock.wall();
        if let Some(write) = write
            && write.expected == memory.get(&key)
            && time <= write.not_after
        {
            memory.put(&key, &write.new, FOREVER);
        }
        Marked {
            marker: memory.get(&key),
            time,
        }
    }

    /// Tells `listener` what is at `keys`, now and at each change.
    pub(crate) fn look_out(&self, keys: Resource, listener: Box<dyn Listener>) {
        let told = self.gone_at(&keys);
        listener.tell(self.key_report(told));
        self.lock().lookouts.push(Lookout {
            keys,
            told,
            listener,
        });
    }

    /// Deletes a key by hand.
    pub fn delete(&self, key: &[u8]) {
        self.memory().delete(key);
        self.tell();
    }

    /// Tells the listeners whose keys have changed.
    fn tell(&self) {
        let mut lookouts = std::mem::take(&mut self.lock().lookouts);
        lookouts.retain(|lookout| lookout.listener.is_wanted());
        for lookout in &mut lookouts {
            let now = self.gone_at(&lookout.keys);
            if std::mem::replace(&mut lookout.told, now) != now {
                lookout.listener.tell(self.key_report(now));
            }
        }
        self.lock().lookouts = lookouts;
    }

    /// When the last of `keys` goes; none where none is there.
    fn gone_at(&self, keys: &Resource) -> Option<Moment> {
        let (memory, now) = (self.memory(), self.clock.now());
        let left = keys.names().filter_map(|key| memory.remaining(key)).max();
        left.map(|left| now.saturating_add(left))
    }

    /// Returns since when a permit is free that `operation` may take.
    fn free_since(&self, operation: &Operation) -> Option<Duration> {
        let keys = operation.keys();
        let all = operation.is_of_permits().then(|| keys.clone())?;
        let from = self.first_free(&all);
        let from = *self.lock().free_from.entry(all).or_insert(from);
        (from <= self.history.world.now()).then_some(from)
    }

    /// Notes which permits are free after an operation.
    fn follow_permits(&self) {
        let mut followed = std::mem::take(&mut self.lock().free_from);
        for (keys, from) in &mut followed {
            let now = self.first_free(keys);
            let is_free = now <= self.history.world.now();
            *from = if is_free { now.min(*from) } else { now };
        }
        self.lock().free_from = followed;
    }

    /// When the first of `keys` is free if nothing happens to them.
    fn first_free(&self, keys: &Resource) -> Duration {
        let (memory, now) = (self.memory(), self.history.world.now());
        let free_from = |key| {
            let left = memory.remaining(key)?;
            Some(
                self.clock
                    .common_time(self.clock.now().saturating_add(left)),
            )
        };
        let each = keys.names().map(|key| free_from(key).unwrap_or(now));
        each.min().unwrap_or(now)
    }

    fn key_report(&self, gone_at: Option<Moment>) -> KeyReport {
        gone_at.map_or(KeyReport::Free, |at| {
            KeyReport::Held(Remaining::Expires(at.saturating_since(self.clock.now())))
        })
    }

    /// True if any of `keys` holds `token`, or a reader has an entry with it.
    pub fn holds(&self, keys: &Resource, token: &[u8]) -> bool {
        let memory = self.memory();
        let mut names = keys.names();
        names.any(|key| memory.get(key).is_some_and(|value| value == token))
            || self.is_reader(keys, token)
    }

    /// True if all of `keys` hold `token`.
    pub(crate) fn has(&self, keys: &Resource, token: &[u8]) -> bool {
        let memory = self.memory();
        let mut names = keys.names();
        names.all(|key| memory.get(key).is_some_and(|value| value == token))
            || self.is_reader(keys, token)
    }

    /// Serves an operation of `process`. `is_late` where its connection was given up before.
    pub fn serve(&self, process: ProcessId, is_late: bool, operation: &Arc<Operation>) -> Answer {
        if let Some(refusal) = self.refusal(operation) {
            self.history.count(|coverage| coverage.errors += 1);
            return refusal;
        }
        let memory = self.memory();
        let values = || -> Vec<Option<Vec<u8>>> {
            operation
                .keys()
                .names()
                .map(|key| memory.get(key))
                .collect()
        };
        let counters = || -> Vec<u64> {
            let keys = operation.counters().into_iter().flat_map(Resource::names);
            keys.map(|key| number(memory.get(key))).collect()
        };
        let (before, counted) = (values(), counters());
        let lasting = shortest(&memory, operation);
        let shared = self.shared(&self.history.rules, operation);
        let free_since = self.free_since(operation);
        let answer = memory.serve(&operation.call);
        let vote = operation.call.vote(answer.clone());
        let served = Served {
            seat: self.seat,
            process,
            is_late,
            operation,
            answer: &vote,
            before,
            after: values(),
            counted,
            counts: counters(),
            is_shortened: shortest(&memory, operation) < lasting,
            free_since,
            shared: shared
                .zip(self.shared(&self.history.rules, operation))
                .map(<[_; 2]>::from),
        };
        self.history.served(&served);
        self.follow_permits();
        self.tell();
        answer
    }
}

/// Returns for how long all keys of an extension are there; nothing for other operations.
fn shortest(memory: &MemoryNode, operation: &Operation) -> Option<Duration> {
    if !matches!(operation.want(), Want::Extend { .. }) {
        return None;
    }
    let left = operation.keys().names().map(|key| memory.remaining(key));
    left.min().flatten()
}

fn number(value: Option<Vec<u8>>) -> u64 {
    let text = value.and_then(|value| String::from_utf8(value).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}
