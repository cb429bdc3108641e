//! One connection, from its handshake to its end.

mod answers;
mod ends;
mod joined;
mod lending;
mod memory;
mod owed;
mod probe;
mod restart_check;
mod watchdog;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

use crate::node::{NodeError, NodeErrorKind};
use crate::redis::connection::errors::lost;
use crate::redis::connection::handshake::Connected;
use crate::redis::connection::socket::Stream;
use crate::redis::connection::transfer;
use crate::redis::options::RedisOptions;
use crate::redis::protocol::command::{Encoding, encode};
use crate::redis::protocol::wire::Received;
use joined::Kept;
use lending::Place;
pub(super) use lending::Serving;
use memory::Memory;
use owed::OwedRetries;

use super::inbox::{Inbox, Owed, Submission, Taken};
use super::restart_check::ServerCheck;

/// The most operations that a lone caller has under way. If it continues at a majority, an operation or two
/// stay unanswered on the slowest node.
const QUIET: usize = 2;

/// Serves a connection until it breaks, or until the node was dropped and everything is answered. It is
/// one task, holds no mutex across an await, and needs no task or channel for an operation.
pub(super) struct Serve {
    stream: Box<dyn Stream>,
    encoding: Encoding,
    /// The node's epoch, which the answers get.
    epoch: u32,
    inbox: Arc<Inbox>,
    options: Arc<RedisOptions>,
    /// The node's restart check, if it has one.
    server_check: Option<Arc<Mutex<ServerCheck>>>,
    /// Where the socket is watched.
    place: Place,
    /// The reason why the node must not vote. While there is one, a grant counts as not granted.
    quarantine: Option<NodeError>,
    /// The moment of the next check; `None` while a check is unanswered, or without a restart check.
    check_at: Option<Instant>,
    /// The facts about the server's memory, if the server tells them.
    memory: Option<Memory>,
    /// Encoded, not yet written.
    output: BytesMut,
    /// Read, not yet a whole reply.
    input: Received,
    /// Unanswered operations, in the order in which the server answers.
    in_flight: VecDeque<InFlight>,
    owed_retries: OwedRetries,
    /// The moment of the next probe of a server that refuses.
    probe_at: Option<Instant>,
    /// A buffer for new submissions, reused.
    taken: Vec<Submission>,
    kept: Kept,
    /// The number of operations answered since the inbox was last told.
    answered: usize,
    is_suspect: bool,
    /// True if all operations are answered or given up.
    is_over: bool,
    /// The moment of the last bytes from the server.
    heard: Instant,
    /// Fires when the oldest answer may be overdue, or the connection idle. It is reset only when it
    /// fires, or would fire too late, and not for each operation.
    watchdog: Pin<Box<Sleep>>,
}

struct InFlight {
    /// The moment when the driver took it, from which the wait for the answer is measured.
    since: Instant,
    purpose: Purpose,
}

enum Purpose {
    /// A caller waits for the answer.
    Call(Submission),
    /// Callers wait for the answers to releases that were sent in one call.
    Joined(Vec<Submission>),
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
}

pub(super) enum ConnectionEnd {
    /// The node was dropped.
    Dropped,
    Broken(NodeError),
}

impl Serve {
    /// Opens the inbox. The restart check's question goes first, then the owed releases, then
    /// everything else.
    pub(super) fn new(
        connected: Connected,
        inbox: &Arc<Inbox>,
        options: &Arc<RedisOptions>,
        server_check: Option<&Arc<Mutex<ServerCheck>>>,
    ) -> Self {
        let encoding = Encoding {
            marker: server_check
                .as_ref()
                .and_then(|server_check| server_check.lock().marker_key()),
            is_tried: connected.allowed.mend.is_none(),
            joins: connected.allowed.joins,
        };
        inbox.metrics.allowed(connected.allowed);
        let quarantine = server_check.as_ref().map(|_| {
            let detail = "connected; its restart check is under way";
            NodeError::unsent(NodeErrorKind::NotConnected, detail)
        });
        let owed = inbox.open(quarantine.clone());
        let mut serve = Self {
            stream: connected.stream,
            encoding,
            epoch: inbox.epoch(),
            inbox: Arc::clone(inbox),
            options: Arc::clone(options),
            server_check: server_check.cloned(),
            place: Place::new(connected.socket),
            quarantine,
            check_at: None,
            memory: Memory::of(connected.facts),
            output: BytesMut::new(),
            input: Received::default(),
            in_flight: VecDeque::new(),
            owed_retries: OwedRetries::new(),
            probe_at: None,
            taken: Vec::new(),
            kept: Kept::default(),
            answered: 0,
            is_suspect: false,
            is_over: false,
            heard: Instant::now(),
            watchdog: Box::pin(tokio::time::sleep(options.suspect_after)),
        };
        serve.ask();
        serve.send_owed(owed);
        serve
    }

    /// Ends the connection from outside.
    pub(super) fn end(&mut self, error: NodeError) -> ConnectionEnd {
        self.give_up(&error);
        ConnectionEnd::Broken(error)
    }

    /// Gives the connection up, if it has not ended, also after a panic: the operations in flight may have
    /// been served. The connection is not used again, as answers could meet the wrong operations.
    fn abandon(&mut self) {
        if !self.is_over {
            self.give_up(&lost("the node's driver has ended"));
        }
    }

    fn push(&mut self, since: Instant, purpose: Purpose) {
        let overdue = since + self.options.suspect_after;
        if self.watchdog.deadline() > overdue {
            self.watchdog.as_mut().reset(overdue);
        }
        self.in_flight.push_back(InFlight { since, purpose });
    }

    /// Encodes the operations that callers submitted.
    fn take(&mut self, context: &Context<'_>) -> Taken {
        let mut taken = std::mem::take(&mut self.taken);
        let answered = std::mem::take(&mut self.answered);
        let found = self.inbox.take(&mut taken, answered, context);
        self.place.is_busy = self.in_flight.len().max(taken.len()) > QUIET;
        // Read by the driver: the caller's runtime may have a clock of its own, which a test has stopped.
        let since = if taken.is_empty() {
            self.heard
        } else {
            Instant::now()
        };
        for submission in taken.drain(..) {
            if let Some(submission) = self.keep(submission, since) {
                self.send(submission, since);
            }
        }
        self.send_kept(since);
        self.taken = taken;
        found
    }

    fn send(&mut self, submission: Submission, since: Instant) {
        encode(&submission.call, &self.encoding, false, &mut self.output);
        self.push(since, Purpose::Call(submission));
    }

    fn step(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, NodeError> {
        loop {
            self.read(context)?;
            self.ask_if_wanted();
            let found = self.take(context);
            transfer::write(&mut self.stream, &mut self.output, context)?;
            match found {
                Taken::Some => {}
                Taken::Ended if self.in_flight.is_empty() => return Ok(Poll::Ready(())),
                Taken::Ended | Taken::Nothing => {
                    if !self.watch(context)? {
                        return Ok(Poll::Pending);
                    }
                }
            }
        }
    }
}

impl Future for Serve {
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

#[cfg(test)]
mod tests;
