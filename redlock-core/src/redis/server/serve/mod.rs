//! One connection, from its handshake to its end.

mod answers;
mod ends;
mod memory;
mod overtaken;
mod owed;
mod probe;
mod restart_check;
mod slots;
mod watchdog;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::time::{Instant, Sleep};

use crate::node::operation::SharedOperation;
use crate::node::{NodeError, NodeErrorKind, Reply};
use crate::redis::connection::errors::lost;
use crate::redis::connection::handshake::Connected;
use crate::redis::connection::socket::Reader;
use crate::redis::connection::transfer;
use crate::redis::connection::writer::Writer;
use crate::redis::options::RedisOptions;
use crate::redis::protocol::command::{Encoding, encoded};
use crate::redis::protocol::wire::Received;
use memory::Memory;
use overtaken::Overtaken;
use owed::OwedRetries;

use super::inbox::{Inbox, Owed, Route, Submission, Taken};
use super::restart_check::ServerCheck;

/// So much under way is hardly anything: a caller that goes on at a majority leaves the slowest
/// node an operation or two behind.
const QUIET: usize = 2;
/// Number of quiet looks after which callers are taken to come one at a time. A pause between two bursts is
/// shorter; batches serve bursts better than a system call each.
const CALM: u32 = 8;

/// Serves a connection until it breaks, or until the node was dropped and everything is answered.
/// One task, no lock across an await, no task or channel an operation.
pub(super) struct Serve<'a> {
    reader: Reader,
    writer: Arc<dyn Writer>,
    encoding: Encoding,
    /// Of the node, as of what is being answered.
    epoch: u32,
    inbox: &'a Inbox,
    options: &'a RedisOptions,
    /// The node's restart check, where it has one.
    server_check: Option<&'a mut ServerCheck>,
    /// Why the node must not vote: what it grants meanwhile counts as not granted.
    quarantine: Option<NodeError>,
    /// When the restart check looks at the node again; `None` while its question is out, or without one.
    check_at: Option<Instant>,
    /// What the server says of its memory, where it does.
    memory: Option<Memory>,
    /// Encoded, not yet written.
    output: BytesMut,
    /// Read, not yet a whole reply.
    input: Received,
    /// In the order in which the server answers.
    in_flight: VecDeque<InFlight>,
    /// What of that is undone by what is behind it, while scripts are found to be forgotten.
    overtaken: Option<Overtaken>,
    owed_retries: OwedRetries,
    /// When a server that refuses is asked whether it would vote again.
    probe_at: Option<Instant>,
    /// Reused from one round to the next.
    taken: Vec<Submission>,
    /// Answered since the inbox was last told.
    answered: usize,
    is_suspect: bool,
    /// Everything is answered, or given up.
    is_over: bool,
    /// See [`leave_a_replica`](Self::leave_a_replica).
    leaves_a_replica: bool,
    /// For how many looks into the inbox in a row there was hardly anything to do.
    quiet_takes: u32,
    /// When the server was last heard of.
    heard: Instant,
    /// Fires when the oldest answer may be overdue, or the connection idle. Set anew only when it
    /// fires, or would fire too late: not once an operation.
    watchdog: Pin<Box<Sleep>>,
}

struct InFlight {
    since: Instant,
    purpose: Purpose,
}

enum Purpose {
    /// A caller waits for it.
    Operation {
        operation: SharedOperation,
        reply: Reply,
        route: Route,
    },
    /// A release that is owed: from before the connection, or answered with an error.
    Owed(Owed),
    /// Any answer shows that the connection is alive.
    Heartbeat,
    /// What goes ahead of an operation on a slot that the server is just being given.
    Asking,
    /// The restart check's question.
    Check,
    /// Whether it would set a key.
    Probe,
    /// What is said of the server's memory.
    Memory,
}

pub(super) enum ConnectionEnd {
    /// The node was dropped.
    Dropped,
    Broken(NodeError),
}

impl<'a> Serve<'a> {
    /// Opens the inbox, and puts the restart check's question and then what is owed ahead of everything
    /// else.
    pub(super) fn new(
        connected: Connected,
        inbox: &'a Inbox,
        options: &'a RedisOptions,
        server_check: Option<&'a mut ServerCheck>,
    ) -> Self {
        let encoding = Encoding {
            dialect: connected.dialect,
            marker: server_check
                .as_ref()
                .and_then(|server_check| server_check.marker_key()),
        };
        let quarantine = server_check.as_ref().map(|_| {
            let detail = "connected, and being looked at";
            NodeError::unsent(NodeErrorKind::NotConnected, detail)
        });
        let owed = inbox.open(&connected.writer, &encoding, quarantine.clone());
        let mut serve = Self {
            reader: connected.reader,
            writer: connected.writer,
            encoding,
            epoch: inbox.epoch(),
            inbox,
            options,
            server_check,
            quarantine,
            check_at: None,
            memory: Memory::of(connected.facts),
            output: BytesMut::new(),
            input: Received::default(),
            in_flight: VecDeque::new(),
            overtaken: None,
            owed_retries: OwedRetries::new(),
            probe_at: None,
            taken: Vec::new(),
            answered: 0,
            is_suspect: false,
            is_over: false,
            leaves_a_replica: false,
            quiet_takes: 0,
            heard: Instant::now(),
            watchdog: Box::pin(tokio::time::sleep(options.suspect_after)),
        };
        serve.ask();
        serve.send_owed(owed);
        serve
    }

    /// From here on, a server that answers as a replica does is not the one that is meant any more,
    /// and the connection to it ends.
    pub(super) fn leave_a_replica(&mut self) {
        self.leaves_a_replica = true;
    }

    /// Ends the connection from outside.
    pub(super) fn end(&mut self, error: NodeError) -> ConnectionEnd {
        self.give_up(&error);
        ConnectionEnd::Broken(error)
    }

    fn push(&mut self, since: Instant, purpose: Purpose) {
        let overdue = since + self.options.suspect_after;
        if self.watchdog.deadline() > overdue {
            self.watchdog.as_mut().reset(overdue);
        }
        if let Some(overtaken) = &mut self.overtaken {
            overtaken.sent(&purpose);
        }
        self.in_flight.push_back(InFlight { since, purpose });
    }

    /// Puts what callers wrote by themselves where it belongs: ahead of all that is to be sent.
    fn hear_of_written(&mut self) {
        let mut taken = std::mem::take(&mut self.taken);
        self.inbox.take_written(&mut taken, &mut self.output);
        for Submission {
            since,
            operation,
            reply,
            route,
        } in taken.drain(..)
        {
            let purpose = Purpose::Operation {
                operation,
                reply,
                route,
            };
            self.push(since, purpose);
        }
        self.taken = taken;
    }

    /// Encodes what callers submitted.
    fn take(&mut self, context: &Context<'_>) -> Taken {
        let mut taken = std::mem::take(&mut self.taken);
        let answered = std::mem::take(&mut self.answered);
        // What a caller writes by itself wakes nobody, so the watchdog has to look in time.
        let is_watched = self.watchdog.deadline() <= Instant::now() + self.options.suspect_after;
        let is_quiet = self.output.is_empty() && self.in_flight.len() <= QUIET;
        let is_calm = is_quiet && is_watched && self.quiet_takes >= CALM;
        let found = self.inbox.take(&mut taken, answered, is_calm, context);
        if is_quiet && taken.len() <= QUIET {
            self.quiet_takes = self.quiet_takes.saturating_add(1);
        } else {
            self.quiet_takes = 0;
        }
        for Submission {
            since,
            operation,
            reply,
            route,
        } in taken.drain(..)
        {
            if route.is_asking {
                self.ask_for_slot(since);
            }
            if route.is_barrier {
                self.send_all_owed();
            }
            self.output
                .extend_from_slice(encoded(&operation, &self.encoding));
            let purpose = Purpose::Operation {
                operation,
                reply,
                route,
            };
            self.push(since, purpose);
        }
        self.taken = taken;
        found
    }

    fn step(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, NodeError> {
        loop {
            if self.inbox.is_retired() {
                // Before reading: what it says now, it says as a master that was replaced.
                return Err(slots::replaced());
            }
            self.read(context)?;
            self.ask_if_wanted();
            let found = self.take(context);
            if found == Taken::Overtaken {
                self.hear_of_written();
            }
            transfer::write(&mut &*self.writer, &mut self.output, context)?;
            match found {
                Taken::Some | Taken::Overtaken => {}
                Taken::Retired => return Err(slots::replaced()),
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

impl Future for Serve<'_> {
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

impl Drop for Serve<'_> {
    /// Also where it panicked: what is under way may have been served, and nothing goes on on this
    /// connection, on which answers could meet the wrong operations.
    fn drop(&mut self) {
        if !self.is_over {
            self.give_up(&lost("the node's driver has ended"));
        }
    }
}

#[cfg(test)]
mod tests;
