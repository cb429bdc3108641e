//! One connection, from its first call to its end.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::redis::aio::MultiplexedConnection;
use ::redis::{Cmd, Pipeline, RedisResult, Value as Theirs};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

use crate::node::{NodeError, NodeErrorKind};
use crate::redis::connection::errors::lost;
use crate::redis::options::RedisOptions;
use crate::redis::server::inbox::{Inbox, Owed, Submission, Taken};
use crate::redis::server::restart_check::ServerCheck;

use super::command::{Dialect, broken, command};
use super::connect::{Connected, introduce};
use super::many::Batch;
use super::owed::OwedRetries;
use super::probe::Memory;
use super::wakeups::Wakeups;

/// The most operations that a lone caller has under way. If it continues at a majority, an operation or two
/// stay unanswered on the slowest node.
const QUIET: usize = 2;

/// The most times in a row that several callers go first: what they submit meanwhile goes in one call.
const MOST_YIELDS: u32 = 3;

/// Serves a connection until it breaks, or until the node was dropped and everything is answered. It holds no mutex
/// across an await, and needs no task or channel for an operation.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Actor {
    connection: MultiplexedConnection,
    pub(super) dialect: Dialect,
    /// The node's epoch, which the answers get.
    pub(super) epoch: u32,
    pub(super) inbox: Arc<Inbox>,
    pub(super) options: Arc<RedisOptions>,
    /// The node's restart check, if it has one.
    pub(super) server_check: Option<Arc<Mutex<ServerCheck>>>,
    /// The reason why the node must not vote. While there is one, a grant counts as not granted.
    pub(super) quarantine: Option<NodeError>,
    /// The moment of the next check; `None` while a check is unanswered, or without a restart check.
    pub(super) check_at: Option<Instant>,
    /// The facts about the server's memory, if the server tells them.
    pub(super) memory: Option<Memory>,
    /// What was sent and is not answered, in the order in which the server answers.
    pub(super) flights: VecDeque<Flight>,
    pub(super) owed_retries: OwedRetries,
    /// The moment of the next probe of a server that refuses.
    pub(super) probe_at: Option<Instant>,
    pub(super) wakeups: Wakeups,
    /// A buffer for new submissions, reused.
    taken: Vec<Submission>,
    pub(super) batch: Batch,
    /// The number of operations answered since the inbox was last told.
    pub(super) answered: usize,
    /// The number of calls that are under way.
    under_way: usize,
    /// The number of flights so far.
    launched: usize,
    is_busy: bool,
    yields: u32,
    queued: usize,
    pub(super) is_suspect: bool,
    /// True while the server is made to remember the scripts again.
    pub(super) is_loading: bool,
    /// True if acquisitions of earlier connections have no answer.
    pub(super) has_lost: bool,
    /// True if all operations are answered or given up.
    is_over: bool,
    /// True if a replica's answer ends the connection: the server is no longer the node's master.
    pub(super) leaves_a_replica: bool,
    /// The moment of the last answer from the server.
    pub(super) heard: Instant,
    /// Fires when the oldest answer may be overdue, or the connection idle. It is reset only when it
    /// fires, or would fire too late, and not for each operation.
    pub(super) watchdog: Pin<Box<Sleep>>,
}

/// A command, or several that are sent together, and what the answer is for.
pub(super) struct Flight {
    answer: Pin<Box<dyn Future<Output = RedisResult<Theirs>> + Send>>,
    /// The moment when the actor took it, from which the wait for the answer is measured.
    pub(super) since: Instant,
    pub(super) purpose: Purpose,
}

pub(super) enum Purpose {
    /// A caller waits for the answer.
    Call(Submission),
    /// Callers wait for the answers to acquisitions, and to releases behind them.
    Many(Vec<Submission>),
    /// The server remembers the scripts again.
    Scripts,
    /// An owed release: from before the connection, or answered with an error.
    Owed(Owed),
    /// Any answer shows that the connection is alive.
    Heartbeat,
    /// The restart check's question.
    Check,
    /// The question whether the server would set a key.
    Probe,
    /// The question about the server's memory.
    Memory,
    /// The server is to tell of keys.
    Tracking,
    /// How long a key lives for which callers wait.
    Look(Arc<[u8]>),
}

pub(super) enum ConnectionEnd {
    /// The node was dropped.
    Dropped,
    Broken(NodeError),
}

impl Actor {
    /// Opens the inbox. The restart check's question goes first, then the owed releases, then everything else.
    pub(super) fn new(
        connected: Connected,
        inbox: &Arc<Inbox>,
        options: &Arc<RedisOptions>,
        server_check: Option<&Arc<Mutex<ServerCheck>>>,
        leaves_a_replica: bool,
    ) -> Self {
        let dialect = Dialect {
            marker: server_check.and_then(|server_check| server_check.lock().marker_key()),
            is_tried: connected.allowed.mend.is_none(),
        };
        let batch = Batch::new(connected.allowed.joins);
        inbox.metrics.allowed(connected.allowed);
        let quarantine = server_check.map(|_| {
            let detail = "connected; its restart check is under way";
            NodeError::unsent(NodeErrorKind::NotConnected, detail)
        });
        let owed = inbox.open(quarantine.clone());
        let now = inbox.time.now();
        let mut actor = Self {
            connection: connected.connection,
            dialect,
            epoch: inbox.epoch(),
            options: Arc::clone(options),
            server_check: server_check.cloned(),
            quarantine,
            check_at: None,
            memory: Memory::of(connected.facts, now),
            flights: VecDeque::new(),
            owed_retries: OwedRetries::new(),
            probe_at: None,
            wakeups: connected.wakeups,
            taken: Vec::new(),
            batch,
            answered: 0,
            under_way: 0,
            launched: 0,
            is_busy: false,
            yields: 0,
            queued: 0,
            is_suspect: false,
            is_loading: false,
            has_lost: inbox.has_lost(),
            is_over: false,
            leaves_a_replica,
            heard: now,
            watchdog: inbox.time.sleep(options.suspect_after),
            inbox: Arc::clone(inbox),
        };
        actor.ask();
        actor.send_owed(owed);
        actor
    }

    /// Sends a command. The crate writes commands in the order in which their futures are polled first.
    pub(super) fn send(&mut self, command: Cmd, since: Instant, purpose: Purpose) {
        let mut connection = self.connection.clone();
        let answer = async move { connection.send_packed_command(&command).await };
        self.launch(Box::pin(answer), since, purpose);
    }

    /// Sends several commands together. The answer is that of the last one.
    pub(super) fn send_all(&mut self, commands: Pipeline, since: Instant, purpose: Purpose) {
        let mut connection = self.connection.clone();
        let answer = async move {
            let last = commands.len() - 1;
            let answers = connection.send_packed_commands(&commands, last, 1).await?;
            Ok(answers.into_iter().next_back().unwrap_or(Theirs::Nil))
        };
        self.launch(Box::pin(answer), since, purpose);
    }

    fn launch(
        &mut self,
        mut answer: Pin<Box<dyn Future<Output = RedisResult<Theirs>> + Send>>,
        since: Instant,
        purpose: Purpose,
    ) {
        // The connection's queue never fills, so the first poll hands the command over. It can only fail at once if the
        // connection has ended, which the next poll finds again.
        let handed_over = answer
            .as_mut()
            .poll(&mut Context::from_waker(std::task::Waker::noop()));
        let answer: Pin<Box<dyn Future<Output = _> + Send>> = match handed_over {
            Poll::Pending => answer,
            Poll::Ready(done) => Box::pin(std::future::ready(done)),
        };
        self.watch_by(since + self.options.suspect_after);
        self.under_way += purpose.calls();
        self.launched += 1;
        self.flights.push_back(Flight {
            answer,
            since,
            purpose,
        });
    }

    /// Makes the server remember the scripts again.
    pub(super) fn load_scripts(&mut self) {
        if !std::mem::replace(&mut self.is_loading, true) {
            let mut scripts = Pipeline::new();
            introduce(&mut scripts);
            self.send_all(scripts, self.heard, Purpose::Scripts);
        }
    }

    /// Makes the watchdog fire at `moment` at the latest.
    pub(super) fn watch_by(&mut self, moment: Instant) {
        if self.watchdog.deadline() > moment {
            self.watchdog.as_mut().reset(moment);
        }
    }

    pub(super) fn send_call(&mut self, submission: Submission, since: Instant) {
        let command = command(&submission.call, &self.dialect, false);
        self.send(command, since, Purpose::Call(submission));
    }

    /// Handles the answers that have come, in their order.
    fn read(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let mut now = None;
        while let Some(flight) = self.flights.front_mut() {
            let Poll::Ready(answer) = flight.answer.as_mut().poll(context) else {
                break;
            };
            let answer = answer.map_err(|error| broken(&error))?;
            self.heard = *now.get_or_insert_with(|| self.inbox.time.now());
            if let Some(flight) = self.flights.pop_front() {
                self.under_way -= flight.purpose.calls();
                self.trust_again();
                self.answer(flight, answer)?;
            }
        }
        Ok(())
    }

    /// Puts a flight back that was not answered, so that its calls are given up with the others.
    pub(super) fn put_back(&mut self, flight: Flight) {
        self.under_way += flight.purpose.calls();
        self.flights.push_front(flight);
    }

    /// Sends the operations that callers submitted.
    fn take(&mut self, context: &Context<'_>) -> Option<Taken> {
        if self.is_busy && self.yields < MOST_YIELDS {
            // Several callers are there: more of them may submit before this goes on.
            let queued = self.inbox.queued();
            if queued > 0 && (self.yields == 0 || queued != self.queued) {
                self.yields += 1;
                self.queued = queued;
                return None;
            }
        }
        self.yields = 0;
        let mut taken = std::mem::take(&mut self.taken);
        let answered = std::mem::take(&mut self.answered);
        let found = self.inbox.take(&mut taken, answered, context);
        if taken.is_empty() {
            self.taken = taken;
            return Some(found);
        }
        self.is_busy = self.under_way.max(taken.len()) > QUIET;
        // By the library's time: a test may have stopped the clock of this runtime.
        let since = self.inbox.time.now();
        for submission in taken.drain(..) {
            self.add(submission, since);
        }
        self.send_batch(since);
        self.taken = taken;
        Some(found)
    }

    fn step(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, NodeError> {
        loop {
            // Leaves the waker with the oldest flight.
            self.read(context)?;
            let launched = self.launched;
            self.ask_if_wanted();
            self.follow()?;
            match self.take(context) {
                None if self.launched == launched => {
                    context.waker().wake_by_ref();
                    return Ok(Poll::Pending);
                }
                None | Some(Taken::Some) => {}
                Some(Taken::Ended) if self.flights.is_empty() => return Ok(Poll::Ready(())),
                Some(Taken::Ended | Taken::Nothing) => {
                    self.watch(context)?;
                    if self.launched == launched {
                        return Ok(Poll::Pending);
                    }
                }
            }
        }
    }

    /// Ends the connection, and gives its operations up.
    pub(super) fn end(&mut self, error: NodeError) -> ConnectionEnd {
        self.give_up(&error, false);
        ConnectionEnd::Broken(error)
    }

    /// The connection is gone. Callers hear that the outcome is unknown, and releases are owed. If the actor `moves`,
    /// another one goes on with the queue, and otherwise the inbox is closed.
    fn give_up(&mut self, error: &NodeError, moves: bool) {
        self.is_over = true;
        let (mut owed, mut calls) = (Vec::new(), self.batch.take());
        for flight in self.flights.drain(..) {
            match flight.purpose {
                Purpose::Call(call) => calls.push(call),
                Purpose::Many(many) => calls.extend(many),
                Purpose::Owed(still) => owed.push(still),
                _ => {}
            }
        }
        calls.append(&mut self.taken);
        owed.extend(calls.iter().filter_map(|it| it.owed(&self.inbox.time)));
        self.inbox.lost(calls.iter().map(|it| &*it.call));
        let watches = self.wakeups.forget();
        if moves {
            self.inbox.moves(owed);
        } else {
            self.inbox.close(error, owed);
        }
        self.inbox.keep(watches);
        // Whatever ended the connection: these operations may have been served, and must be undone.
        let unknown = error.clone().into_sent();
        self.inbox.metrics.failed(error.kind(), calls.len());
        for call in calls {
            call.reply
                .answer(crate::node::Answer::Failed(unknown.clone()));
        }
    }
}

impl Purpose {
    /// The number of calls of callers.
    fn calls(&self) -> usize {
        match self {
            Self::Call(_) => 1,
            Self::Many(calls) => calls.len(),
            _ => 0,
        }
    }
}

impl Future for Actor {
    type Output = ConnectionEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ConnectionEnd> {
        match self.step(context) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => {
                self.is_over = true;
                Poll::Ready(ConnectionEnd::Dropped)
            }
            Err(error) => Poll::Ready(self.end(error)),
        }
    }
}

impl Drop for Actor {
    /// The actor's runtime has ended, or it has panicked. The operations in flight may have been served.
    fn drop(&mut self) {
        if !self.is_over {
            self.give_up(
                &lost("the runtime of the node's connection has ended"),
                true,
            );
        }
    }
}
