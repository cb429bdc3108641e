//! One connection on which a server tells of keys, from its greeting to its end.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use tokio::time::{Instant, Sleep};

use crate::node::NodeError;
use crate::node::watch::Watch;
use crate::redis::address::Login;
use crate::redis::connection::backoff::HasEnded;
use crate::redis::connection::errors::{garbled, overdue};
use crate::redis::connection::socket::Stream;
use crate::redis::connection::transfer;
use crate::redis::protocol::command::HEARTBEAT;
use crate::redis::protocol::read_buffer::make_room;
use crate::redis::protocol::wire::{Value, decode_resp3, pack};

use super::KeyTracking;
use super::keys::{Seen, TrackedKeys};

/// When a key is asked for again that the server answered with an error.
const ASKS_AGAIN: Duration = Duration::from_secs(1);

/// Serves waiting callers until the connection breaks or is no longer needed. Like the node's driver,
/// it is one task and holds no mutex across an await.
pub(super) struct TrackingConnection<'a> {
    stream: Box<dyn Stream>,
    tracking: &'a KeyTracking,
    tracked: &'a mut TrackedKeys,
    /// Encoded, not yet written.
    output: BytesMut,
    /// Read, not yet a whole reply.
    input: BytesMut,
    /// Unanswered questions, in the order in which the server answers.
    asked: VecDeque<Asked>,
    /// A buffer for new watches, reused.
    taken: Vec<Watch>,
    /// True if the server has answered more than the greeting.
    pub(super) has_answered: bool,
    /// The moment of the last bytes from the server.
    heard: Instant,
    /// The moment when a caller was last known to wait.
    wanted: Instant,
    /// The moment of the next check whether a caller waits.
    look_at: Instant,
    /// When keys are asked for again that were refused, if there are any.
    again_at: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

struct Asked {
    since: Instant,
    question: Question,
}

enum Question {
    /// A part of the greeting. An error is a refusal.
    Greeting,
    Key(Arc<[u8]>),
    /// Any answer shows that the connection is alive.
    Heartbeat,
}

pub(super) enum TrackingEnd {
    /// The node was dropped.
    Dropped,
    /// No caller has waited for `watch_idle`.
    Idle,
    /// The server does not tell of keys, for this reason.
    Refused(String),
    Broken(NodeError),
}

impl From<NodeError> for TrackingEnd {
    fn from(error: NodeError) -> Self {
        Self::Broken(error)
    }
}

impl<'a> TrackingConnection<'a> {
    pub(super) fn new(
        stream: Box<dyn Stream>,
        login: &Login,
        tracking: &'a KeyTracking,
        tracked: &'a mut TrackedKeys,
    ) -> Self {
        let now = Instant::now();
        let look_at = now + look_every(tracking.times.idle);
        let mut connection = Self {
            stream,
            tracking,
            tracked,
            output: BytesMut::new(),
            input: BytesMut::new(),
            asked: VecDeque::new(),
            taken: Vec::new(),
            has_answered: false,
            heard: now,
            wanted: now,
            look_at,
            again_at: None,
            timer: Box::pin(tokio::time::sleep_until(look_at)),
        };
        for words in greeting(login) {
            connection.ask(Question::Greeting, &words);
        }
        connection
    }

    fn ask(&mut self, question: Question, command: &[u8]) {
        self.output.extend_from_slice(command);
        let since = Instant::now();
        self.asked.push_back(Asked { since, question });
    }

    /// Reads until no more bytes are there.
    fn read(&mut self, context: &mut Context<'_>) -> Result<(), TrackingEnd> {
        make_room(&mut self.input);
        while transfer::read(&mut self.stream, &mut self.input, context)?.is_some() {
            self.heard = Instant::now();
            self.hear_all()?;
            make_room(&mut self.input);
        }
        Ok(())
    }

    fn hear_all(&mut self) -> Result<(), TrackingEnd> {
        let mut input = std::mem::take(&mut self.input);
        while let Some((value, length)) = decode_resp3(&input).map_err(|_| garbled())? {
            match &value {
                Value::Push(words) => self.told(words),
                value => self.answered(value)?,
            }
            input.advance(length);
        }
        self.input = input;
        Ok(())
    }

    /// Handles a message that the server sent unasked. Messages other than `invalidate` are ignored.
    fn told(&mut self, words: &[Value<'_>]) {
        match words {
            [Value::Bulk(b"invalidate"), Value::Array(keys)] => {
                for key in keys {
                    if let Value::Bulk(key) = key {
                        self.tracked.changed(key);
                    }
                }
            }
            // After FLUSHALL and FLUSHDB.
            [Value::Bulk(b"invalidate"), Value::Nil] => self.tracked.all_changed(),
            _ => {}
        }
    }

    fn answered(&mut self, value: &Value<'_>) -> Result<(), TrackingEnd> {
        let oldest = self.asked.pop_front().ok_or_else(garbled)?;
        self.has_answered |= !matches!(oldest.question, Question::Greeting);
        match (oldest.question, value) {
            (Question::Greeting, Value::Error(text)) => {
                return Err(TrackingEnd::Refused(NodeError::server(text).to_string()));
            }
            (Question::Greeting | Question::Heartbeat, _) => {}
            (Question::Key(key), Value::Int(left)) => {
                let seen = match left {
                    -2 => Seen::Gone,
                    -1 => Seen::Stays,
                    left => self
                        .tracked
                        .until(Duration::from_millis(left.unsigned_abs())),
                };
                self.tracked.answered(&key, seen);
            }
            // The user may not read this key, or the server is loading its data.
            (Question::Key(key), Value::Error(_)) => {
                self.tracked.refused(key);
                self.again_at.get_or_insert(self.heard + ASKS_AGAIN);
            }
            (Question::Key(_), _) => return Err(garbled().into()),
        }
        Ok(())
    }

    /// Takes new watches, and sends the questions that they and the server's messages raised.
    fn take(&mut self, context: &Context<'_>) -> Result<(), TrackingEnd> {
        let mut taken = std::mem::take(&mut self.taken);
        let HasEnded(has_ended) = self.tracking.take(&mut taken, context);
        if !taken.is_empty() {
            self.wanted = Instant::now();
        }
        for watch in taken.drain(..) {
            self.tracked.add(watch);
        }
        self.taken = taken;
        if has_ended {
            return Err(TrackingEnd::Dropped);
        }
        for key in self.tracked.take_questions() {
            let command = pack([b"PTTL".as_slice(), &key].into_iter());
            self.ask(Question::Key(key), &command);
        }
        Ok(())
    }

    /// Checks for an overdue answer, a silent server, and waiting callers. True if there is something
    /// to write.
    fn watch(&mut self, context: &mut Context<'_>) -> Result<bool, TrackingEnd> {
        let times = &self.tracking.times;
        loop {
            let now = Instant::now();
            if self.look_at <= now {
                if self.tracked.is_wanted() {
                    self.wanted = now;
                } else if now >= self.wanted + times.idle {
                    return Err(TrackingEnd::Idle);
                }
                self.look_at = now + look_every(times.idle);
            }
            if self.again_at.take_if(|at| *at <= now).is_some() {
                self.tracked.ask_again();
                return Ok(true);
            }
            let next = match self.asked.front() {
                Some(oldest) if now >= oldest.since + times.dead_after => {
                    let waited = now.duration_since(oldest.since);
                    return Err(overdue(waited).into());
                }
                Some(oldest) => oldest.since + times.dead_after,
                None if now >= self.heard + times.heartbeat => {
                    self.ask(Question::Heartbeat, HEARTBEAT);
                    return Ok(true);
                }
                None => self.heard + times.heartbeat,
            };
            let next = next.min(self.look_at).min(self.again_at.unwrap_or(next));
            if self.timer.deadline() != next {
                self.timer.as_mut().reset(next);
            }
            if self.timer.as_mut().poll(context).is_pending() {
                return Ok(false);
            }
        }
    }

    fn step(&mut self, context: &mut Context<'_>) -> Result<(), TrackingEnd> {
        loop {
            self.read(context)?;
            self.take(context)?;
            transfer::write(&mut self.stream, &mut self.output, context)?;
            if !self.watch(context)? {
                return Ok(());
            }
        }
    }
}

impl Future for TrackingConnection<'_> {
    type Output = TrackingEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<TrackingEnd> {
        match self.step(context) {
            Ok(()) => Poll::Pending,
            Err(ended) => Poll::Ready(ended),
        }
    }
}

/// The commands that make a connection tell of keys. All are sent at once: if the server refuses one,
/// it refuses the others too.
fn greeting(login: &Login) -> Vec<Vec<u8>> {
    let mut hello: Vec<&[u8]> = vec![b"HELLO", b"3"];
    if let Some(password) = &login.password {
        hello.extend([
            b"AUTH".as_slice(),
            login.user().as_bytes(),
            password.as_bytes(),
        ]);
    }
    let mut greeting = vec![pack(hello.into_iter())];
    if login.db != 0 {
        let db = login.db.to_string();
        greeting.push(pack([b"SELECT".as_slice(), db.as_bytes()].into_iter()));
    }
    greeting.push(pack([b"CLIENT".as_slice(), b"TRACKING", b"ON"].into_iter()));
    greeting
}

/// The interval of the checks whether a caller waits. It closes a connection about `idle` after the
/// last caller has left.
fn look_every(idle: Duration) -> Duration {
    (idle / 4).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests;
