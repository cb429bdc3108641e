//! A simulated connection between a client and a server: what core knows as a node.
//!
//! It keeps the contract of [`Node`]: first in, first out, both ways; what was under way when it
//! broke is answered with "nobody knows"; releases whose answer is missing go first on the next
//! connection, until their ttl has passed. Bytes of a broken connection may be lost from any point
//! on, and what is not lost may arrive much later, behind those of the next connection.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use redlock_core::{
    Answer, EpochListener, Node, NodeError, NodeErrorKind, NodeStatus, Operation, Reply, Want,
};

use crate::history::{History, Submitted};
use crate::network::Network;
use crate::server::Server;
use crate::world::{ProcessId, World};

/// When an answer has been out for so long, the node votes no at once.
const SUSPECT_AFTER: Duration = Duration::from_millis(200);
/// The first pause before a new connection, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The parts of the world that a link works with.
#[derive(Clone)]
pub struct Surroundings {
    /// The executor.
    pub world: Arc<World>,
    /// The network.
    pub network: Arc<Network>,
    /// Where it is written down.
    pub history: Arc<History>,
}

/// See the [module](self).
pub struct Link {
    pub(crate) around: Surroundings,
    pub(crate) process: ProcessId,
    pub(crate) server: Arc<Server>,
    name: String,
    most_in_flight: usize,
    me: Weak<Link>,
    /// The links of the same client, by seat.
    pub(crate) peers: OnceLock<Vec<Weak<Link>>>,
    pub(crate) state: Mutex<State>,
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
}

pub(crate) struct State {
    pub(crate) wire: Option<Arc<Wire>>,
    pub(crate) in_flight: VecDeque<InFlight>,
    pub(crate) owed: VecDeque<Owed>,
    /// No connection can be made before.
    cut_until: Duration,
    backoff: Duration,
}

/// One connection.
pub(crate) struct Wire {
    /// Of which start of the server.
    pub(crate) start: u64,
    is_given_up: AtomicBool,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    to_server: VecDeque<Arc<Operation>>,
    to_client: VecDeque<Answer>,
    /// When the last of each arrives: the next one is not earlier.
    at_server: Duration,
    at_client: Duration,
    /// What is still under way arrives no earlier.
    held_until: Duration,
}

pub(crate) struct InFlight {
    operation: Arc<Operation>,
    /// None for what is owed from an earlier connection.
    reply: Option<Reply>,
    since: Duration,
    /// The node's epoch when it was sent: what it grants counts in that one only.
    epoch: u32,
    /// Until when it is owed, where it is a release.
    owed_until: Option<Duration>,
}

pub(crate) struct Owed {
    operation: Arc<Operation>,
    until: Duration,
}

impl Link {
    /// A link that is about to connect.
    pub fn new(
        around: Surroundings,
        process: ProcessId,
        server: Arc<Server>,
        most_in_flight: usize,
    ) -> Arc<Self> {
        let link = Arc::new_cyclic(|me| Self {
            name: format!("n{}", server.seat),
            around,
            process,
            server,
            most_in_flight,
            me: Weak::clone(me),
            peers: OnceLock::new(),
            state: Mutex::new(State {
                wire: None,
                in_flight: VecDeque::new(),
                owed: VecDeque::new(),
                cut_until: Duration::ZERO,
                backoff: BACKOFF.0,
            }),
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
        });
        link.connect_after(Duration::ZERO);
        link
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn world(&self) -> &Arc<World> {
        &self.around.world
    }

    /// Runs `action` on this link in its client, after `delay`.
    fn later(&self, delay: Duration, action: impl FnOnce(&Self) + Send + 'static) {
        let me = Weak::clone(&self.me);
        let (world, process) = (Arc::clone(self.world()), self.process);
        self.world().after(delay, move || {
            world.deliver(process, move || {
                if let Some(me) = me.upgrade() {
                    action(&me);
                }
            });
        });
    }

    /// Breaks the connection, where there is one, and lets no other be made before `until`.
    pub fn cut(&self, until: Duration) {
        self.lock().cut_until = until;
        self.break_now();
    }

    /// Breaks the connection, where there is one.
    pub fn break_now(&self) {
        let wire = self.lock().wire.clone();
        if let Some(wire) = wire {
            self.later(Duration::ZERO, move |link| link.give_up(&wire));
        }
    }

    /// Breaks the connection where the server's end of it is gone.
    pub(crate) fn break_if_dead(&self) {
        let is_dead = self
            .lock()
            .wire
            .as_ref()
            .is_some_and(|wire| !self.server.is_up() || self.server.starts() != wire.start);
        if is_dead {
            self.break_now();
        }
    }

    /// Heals what [`cut`](Self::cut) did.
    pub fn heal(&self) {
        self.lock().cut_until = Duration::ZERO;
    }

    /// The client learns that `wire` broke. Callers hear that nobody knows; releases are owed.
    fn give_up(&self, wire: &Arc<Wire>) {
        let in_flight = {
            let mut state = self.lock();
            if !state
                .wire
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, wire))
            {
                return;
            }
            state.wire = None;
            let in_flight = std::mem::take(&mut state.in_flight);
            for one in &in_flight {
                if let Some(until) = one.owed_until {
                    let operation = Arc::clone(&one.operation);
                    state.owed.push_back(Owed { operation, until });
                }
            }
            in_flight
        };
        wire.is_given_up.store(true, Ordering::Relaxed);
        {
            let mut queues = wire.lock();
            let (kept, later) = self.around.network.rest_of(queues.to_server.len());
            queues.to_server.truncate(kept);
            queues.held_until = self.world().now() + later;
        }
        self.around.history.broke(self.process, self.server.seat);
        self.connect_after(BACKOFF.0);
        let error = NodeError::sent(NodeErrorKind::Disconnected, "the connection broke");
        for reply in in_flight.into_iter().filter_map(|one| one.reply) {
            reply.answer(Answer::Failed(error.clone()));
        }
    }

    fn connect_after(&self, delay: Duration) {
        self.later(delay, Self::connect);
    }

    fn connect(&self) {
        let is_reachable = {
            let state = self.lock();
            let now = self.world().now();
            self.server.is_up() && state.cut_until <= now && self.server.hangs_until() <= now
        };
        if is_reachable {
            let start = self.server.starts();
            let round_trip = self.around.network.delay() + self.around.network.delay();
            self.later(round_trip, move |link| link.shake_hands(start));
        } else {
            let backoff = {
                let mut state = self.lock();
                let backoff = state.backoff;
                state.backoff = (backoff * 2).min(BACKOFF.1);
                backoff
            };
            self.connect_after(backoff);
        }
    }

    fn shake_hands(&self, start: u64) {
        if !self.server.is_up() || self.server.starts() != start {
            self.connect_after(BACKOFF.0);
            return;
        }
        self.open(start);
    }

    /// A connection is there. What is owed goes first.
    fn open(&self, start: u64) {
        let wire = Arc::new(Wire {
            start,
            is_given_up: AtomicBool::new(false),
            queues: Mutex::default(),
        });
        let now = self.world().now();
        let mut state = self.lock();
        state.backoff = BACKOFF.0;
        let owed = std::mem::take(&mut state.owed);
        for Owed { operation, until } in owed.into_iter().filter(|owed| owed.until > now) {
            self.around
                .history
                .repeated(self.process, self.server.seat, &operation);
            let one = InFlight {
                operation,
                reply: None,
                since: now,
                epoch: self.epoch(),
                owed_until: Some(until),
            };
            self.send(&mut state, &wire, one);
        }
        state.wire = Some(wire);
    }

    fn send(&self, state: &mut State, wire: &Arc<Wire>, one: InFlight) {
        let at = {
            let mut queues = wire.lock();
            let at = self.world().now() + self.around.network.delay();
            queues.at_server = queues.at_server.max(at);
            queues.to_server.push_back(Arc::clone(&one.operation));
            queues.at_server
        };
        state.in_flight.push_back(one);
        self.arrive_at(at, Arc::clone(wire));
    }

    fn arrive_at(&self, at: Duration, wire: Arc<Wire>) {
        let me = Weak::clone(&self.me);
        self.world().at(at, move || {
            if let Some(me) = me.upgrade() {
                me.arrive(wire);
            }
        });
    }

    /// The next message of `wire` reaches the server.
    fn arrive(&self, wire: Arc<Wire>) {
        let now = self.world().now();
        let waits_until = self.server.hangs_until().max(wire.lock().held_until);
        if waits_until > now {
            self.arrive_at(waits_until, wire);
            return;
        }
        let Some(operation) = wire.lock().to_server.pop_front() else {
            return; // It was lost.
        };
        if !self.server.is_up() {
            return;
        }
        if self.server.starts() != wire.start {
            // The server knows nothing of this connection, and says so.
            let delay = self.around.network.delay();
            self.later(delay, move |link| link.give_up(&wire));
            return;
        }
        let is_late = wire.is_given_up.load(Ordering::Relaxed);
        let answer = self.server.serve(self.process, is_late, &operation);
        let at = {
            let mut queues = wire.lock();
            let at = now + self.around.network.delay();
            queues.at_client = queues.at_client.max(at);
            queues.to_client.push_back(answer);
            queues.at_client
        };
        self.later(at.saturating_sub(now), move |link| link.receive(&wire));
    }

    /// The next answer of `wire` reaches the client.
    fn receive(&self, wire: &Arc<Wire>) {
        let one = {
            let mut state = self.lock();
            if !state
                .wire
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, wire))
            {
                return;
            }
            state.in_flight.pop_front()
        };
        let answer = wire.lock().to_client.pop_front();
        let (Some(one), Some(answer)) = (one, answer) else {
            return;
        };
        let answer = match answer {
            Answer::Granted { counter, .. } => Answer::Granted {
                counter,
                epoch: one.epoch,
            },
            other => other,
        };
        if let Some(reply) = one.reply {
            let seat = self.server.seat;
            self.around.history.answered(seat, &one.operation, &answer);
            reply.answer(answer);
        }
    }

    /// Why nothing can be sent now, if so.
    fn refusal(&self, state: &State, is_release: bool) -> Option<NodeError> {
        if state.wire.is_none() {
            return Some(NodeError::unsent(
                NodeErrorKind::NotConnected,
                "no connection",
            ));
        }
        if is_release {
            return None;
        }
        if state.in_flight.len() >= self.most_in_flight {
            return Some(NodeError::unsent(NodeErrorKind::Saturated, "too much"));
        }
        let now = self.world().now();
        let oldest = state.in_flight.front()?;
        (now.saturating_sub(oldest.since) >= SUSPECT_AFTER)
            .then(|| NodeError::unsent(NodeErrorKind::TimedOut, "an answer is overdue"))
    }

    /// Begins a new epoch, and tells whoever listens.
    pub(crate) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        let listeners = self.listeners.lock();
        let listeners = listeners.unwrap_or_else(PoisonError::into_inner).clone();
        for tell in listeners {
            tell();
        }
    }
}

impl Node for Link {
    fn name(&self) -> &str {
        &self.name
    }

    fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        if self.world().has_ended() {
            return;
        }
        let (history, seat) = (&self.around.history, self.server.seat);
        if history.submitting(self.process, seat, &operation) == Submitted::FirstRelease {
            self.expect_gone(&operation);
        }
        self.world().before_submit(self.process);
        let owed_until = match operation.want() {
            Want::Release { ttl } => Some(self.world().now() + ttl),
            _ => None,
        };
        let refusal = {
            let mut state = self.lock();
            let refusal = self.refusal(&state, owed_until.is_some());
            match (&refusal, owed_until, state.wire.clone()) {
                (None, _, Some(wire)) => {
                    let one = InFlight {
                        operation,
                        reply: Some(reply),
                        since: self.world().now(),
                        epoch: self.epoch(),
                        owed_until,
                    };
                    self.send(&mut state, &wire, one);
                    return;
                }
                (_, Some(until), _) => state.owed.push_back(Owed { operation, until }),
                _ => {}
            }
            refusal
        };
        if let Some(error) = refusal {
            reply.answer(Answer::Failed(error));
        }
    }

    fn status(&self) -> NodeStatus {
        match self.refusal(&self.lock(), false) {
            None => NodeStatus::Voting,
            Some(error) => NodeStatus::Abstaining(error),
        }
    }

    fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        let listeners = self.listeners.lock();
        listeners
            .unwrap_or_else(PoisonError::into_inner)
            .push(listener);
    }
}

impl Wire {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
