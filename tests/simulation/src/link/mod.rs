//! A simulated connection between a client and a server: what core knows as a node.
//!
//! It keeps the contract of [`Node`](redlock_core::Node): first in, first out, both ways. An operation that was under
//! way when the connection broke fails as "perhaps served". A release whose answer is missing goes first on the next
//! connection, until its ttl has passed. Bytes of a broken connection may be lost from any point on. The others may
//! arrive much later, behind those of the next connection.

mod node;
mod owed;
mod watch;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::operation::Operation;
use parking_lot::{Mutex, MutexGuard};
use redlock_core::node::{Answer, EpochListener, NodeError, NodeErrorKind, Submission};
use redlock_core::restart_check::NodeCheck;

use crate::clock::SkewedClock;
use crate::history::History;
use crate::network::Network;
use crate::profile::{Reports, Settings};
use crate::server::Server;
use crate::wire::{Request, Response, Wire};
use crate::world::{ProcessId, World};

use owed::{Owed, owed_until};
use watch::Watches;

/// The first pause before a new connection, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The parts of the world that a link works with.
#[derive(Clone)]
pub struct Surroundings {
    /// The executor.
    pub world: Arc<World>,
    /// The network.
    pub network: Arc<Network>,
    /// The history that records the calls of the link.
    pub history: Arc<History>,
}

/// See the [module](self).
pub struct Link {
    pub(crate) around: Surroundings,
    pub(crate) process: ProcessId,
    pub(crate) server: Arc<Server>,
    name: String,
    most_in_flight: usize,
    pub(crate) clock: Arc<SkewedClock>,
    /// Decides when the node may vote, where there is a restart check.
    pub(crate) node_check: Option<Mutex<NodeCheck>>,
    me: Weak<Link>,
    /// The links of the same client, by seat.
    pub(crate) peers: OnceLock<Vec<Weak<Link>>>,
    pub(crate) state: Mutex<State>,
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
    reports: Reports,
    watches: Mutex<Watches>,
}

pub(crate) struct State {
    pub(crate) gate: Gate,
    pub(crate) wire: Option<Arc<Wire>>,
    pub(crate) in_flight: VecDeque<InFlight>,
    pub(crate) owed: VecDeque<Owed>,
    /// No connection can be made before.
    cut_until: Duration,
    backoff: Duration,
}

impl State {
    fn is_on(&self, wire: &Arc<Wire>) -> bool {
        (self.wire.as_ref()).is_some_and(|known| Arc::ptr_eq(known, wire))
    }
}

/// The calls that a link accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Nothing: there is no connection, or it was not checked yet. Releases are owed.
    Closed,
    /// Releases only.
    Holding,
    /// Everything.
    Voting,
}

pub(crate) struct InFlight {
    operation: Arc<Operation>,
    /// None for what is owed from an earlier connection.
    submission: Option<Submission>,
    since: Duration,
    /// The node's epoch when it was sent: what it grants counts in that one only.
    epoch: u32,
    /// The time until which the release is owed, if it has been owed before.
    owed_until: Option<Duration>,
}

impl Link {
    /// Returns a link that is about to connect.
    pub fn new(
        around: Surroundings,
        process: ProcessId,
        server: Arc<Server>,
        settings: &Settings,
        clock: &Arc<SkewedClock>,
        node_check: Option<NodeCheck>,
    ) -> Arc<Self> {
        let link = Arc::new_cyclic(|me| Self {
            name: format!("n{}", server.seat),
            around,
            process,
            server,
            most_in_flight: settings.most_in_flight,
            clock: Arc::clone(clock),
            node_check: node_check.map(Mutex::new),
            me: Weak::clone(me),
            peers: OnceLock::new(),
            state: Mutex::new(State {
                gate: Gate::Closed,
                wire: None,
                in_flight: VecDeque::new(),
                owed: VecDeque::new(),
                cut_until: Duration::ZERO,
                backoff: BACKOFF.0,
            }),
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
            reports: settings.reports,
            watches: Mutex::default(),
        });
        link.heed_doubts(&link.me);
        link.connect_after(Duration::ZERO);
        link
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn world(&self) -> &Arc<World> {
        &self.around.world
    }

    /// Runs `action` on this link in its client, after `delay`.
    pub(crate) fn later(&self, delay: Duration, action: impl FnOnce(&Self) + Send + 'static) {
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
        self.deafen();
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
        if self.lock().wire.is_some() && !self.is_connected() {
            self.deafen();
            self.break_now();
        }
    }

    /// True if the server is up that the connection was made to.
    pub(crate) fn is_connected(&self) -> bool {
        let state = self.lock();
        let mut wire = state.wire.iter();
        wire.any(|wire| self.server.is_up() && self.server.starts() == wire.start)
    }

    /// Heals what [`cut`](Self::cut) did.
    pub fn heal(&self) {
        self.lock().cut_until = Duration::ZERO;
    }

    /// Tells the client that `wire` broke. Operations fail as "perhaps served"; releases are owed.
    fn give_up(&self, wire: &Arc<Wire>) {
        let in_flight = {
            let mut state = self.lock();
            if !state.is_on(wire) {
                return;
            }
            state.wire = None;
            state.gate = Gate::Closed;
            let in_flight = std::mem::take(&mut state.in_flight);
            let now = self.world().now();
            for one in &in_flight {
                if let Some(until) = one.owed_until.or(owed_until(&one.operation, now)) {
                    let operation = Arc::clone(&one.operation);
                    state.owed.push_back(Owed { operation, until });
                }
            }
            in_flight
        };
        wire.give_up(self.world().now(), &self.around.network);
        self.unreachable();
        self.around.history.broke(self.process, self.server.seat);
        self.connect_after(BACKOFF.0);
        let error = NodeError::sent(NodeErrorKind::Disconnected, "the connection broke");
        for submission in in_flight.into_iter().filter_map(|one| one.submission) {
            submission.answer(Answer::Failed(error.clone()));
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
            let wire = Wire::new(self.server.starts());
            self.lock().wire = Some(Arc::clone(&wire));
            self.ask(&wire, None);
        } else {
            self.unreachable();
            let backoff = {
                let mut state = self.lock();
                let backoff = state.backoff;
                state.backoff = (backoff * 2).min(BACKOFF.1);
                backoff
            };
            self.connect_after(backoff);
        }
    }

    /// Takes operations as `gate` says. Where it was closed, what is owed goes first.
    pub(crate) fn open(&self, wire: &Arc<Wire>, gate: Gate) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.gate, gate) != Gate::Closed {
            return;
        }
        state.backoff = BACKOFF.0;
        self.repeat(&mut state, wire);
    }

    fn send(&self, state: &mut State, wire: &Arc<Wire>, one: InFlight) {
        self.put_on(wire, Request::Operation(Arc::clone(&one.operation)));
        state.in_flight.push_back(one);
    }

    pub(crate) fn put_on(&self, wire: &Arc<Wire>, request: Request) {
        let at = self.world().now() + self.around.network.delay();
        let at = wire.send(request, at);
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

    /// Delivers the next request on `wire` to the server.
    fn arrive(&self, wire: Arc<Wire>) {
        let now = self.world().now();
        let waits_until = self.server.hangs_until().max(wire.held_until());
        if waits_until > now {
            self.arrive_at(waits_until, wire);
            return;
        }
        let Some(request) = wire.next_request() else {
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
        let response = match request {
            Request::Operation(operation) => {
                let is_late = wire.is_given_up();
                Response::Answer(self.server.serve(self.process, is_late, &operation))
            }
            Request::Check(write) => Response::Marked(self.server.check(write)),
        };
        let at = wire.respond(response, now + self.around.network.delay());
        self.later(at.saturating_sub(now), move |link| link.receive(&wire));
    }

    pub(crate) fn is_current(&self, wire: &Arc<Wire>) -> bool {
        self.lock().is_on(wire)
    }

    /// Delivers the next response on `wire` to the client.
    fn receive(&self, wire: &Arc<Wire>) {
        if !self.is_current(wire) {
            return;
        }
        match wire.next_response() {
            Some(Response::Answer(answer)) => self.answer(answer),
            Some(Response::Marked(marked)) => self.judge(wire, &marked),
            None => {}
        }
    }

    fn answer(&self, answer: Answer) {
        let Some(one) = self.lock().in_flight.pop_front() else {
            return;
        };
        if matches!(answer, Answer::Failed(_)) {
            self.owe(&one);
        }
        let answer = match answer {
            Answer::Reply { value, .. } => {
                let epoch = one.epoch;
                Answer::Reply { value, epoch }
            }
            other => other,
        };
        if let Some(submission) = one.submission {
            let seat = self.server.seat;
            let history = &self.around.history;
            let vote = one.operation.call.vote(answer.clone());
            history.answered(seat, &one.operation, &vote);
            let strayed = history.strayed_late(&one.operation, &vote);
            submission.answer(answer);
            history.heard(seat, &one.operation);
            if let Some(release) = strayed {
                self.expect_gone_here(&release);
            }
        }
    }

    /// Begins a new epoch, and tells the listeners.
    pub(crate) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        let listeners = self.listeners.lock().clone();
        for tell in listeners {
            tell();
        }
    }
}
