//! The pipeline to a server: commands that were sent over one connection, and their answers in the same order.
//!
//! The crate and a server have their costs for each command, and a process with many callers often has several to send.
//! So the acquisitions and releases of one write go in one call of a script, if each has one key. In it, and in a write,
//! acquisitions and other calls go ahead of releases of *other* keys: calls that have a key in common keep their order.
//! Each lock is judged by its own reply. An acquisition without a valid reply has failed, and is never sent again. A
//! release without one is sent by itself.

use std::collections::VecDeque;
use std::future::Future;
use std::iter::Zip;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ::redis::{Cmd, Pipeline, RedisResult};
use smallvec::{IntoIter, SmallVec, smallvec};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::ReusableBoxFuture;

use crate::env::Moment;
use crate::node::{NodeError, NodeErrorKind, Value, was_not_run};
use crate::redis::errors::{IS_REPLICA, garbled, lost};
use crate::redis::inbox::{Inbox, QueuedCall};

use super::command::{CallExtras, broken, command, is_of_replica, many, value};
use super::handshake::add_scripts;
use super::open::Opened;

/// The most calls that are sent together. Their callers get their answers together. Also the most acquisitions, and
/// the most releases, in one call: a server serves nothing else meanwhile.
const MOST_TOGETHER: usize = 64;

/// After the server has refused a call for several, the connection makes no other for this long.
const REFUSED_FOR: Duration = Duration::from_secs(600);

/// Most writes have one command, which needs no allocation of its own.
type Few<T> = SmallVec<[T; 1]>;

/// A connection, with what was sent over it and is not answered. It holds no mutex across an await, and needs no task or
/// channel for an operation.
pub(super) struct CommandPipeline {
    opened: Opened,
    pub(super) extras: CallExtras,
    pub(super) inbox: Arc<Inbox>,
    /// Commands that are sent together, and what their answers are for.
    commands: Few<Cmd>,
    purposes: Few<Purpose>,
    /// The acquisitions, and the releases after them, that may go in the next call for several.
    acquisitions: Vec<QueuedCall>,
    releases: Vec<QueuedCall>,
    /// The memory of calls that were answered.
    pub(super) spare_calls: Vec<QueuedCall>,
    /// No call for several is made before; `None` if the server does not allow any.
    joins_from: Option<Instant>,
    /// In the order in which the server answers.
    flights: VecDeque<Flight>,
    /// The memory of a flight that landed.
    spare: Option<AnswersFuture>,
    /// Answers that came together, and are not handled yet.
    landed: Zip<IntoIter<[Purpose; 1]>, IntoIter<[Value; 1]>>,
    /// The moment from which the wait for these answers is measured.
    pub(super) since: Instant,
    /// Wakes the actor, which serves the connection.
    pub(super) waker: Waker,
    /// The moment of the last answer.
    pub(super) heard: Instant,
    /// Fires when something may be due. It is reset only when it fires, or would fire too late, and not for each
    /// operation.
    pub(super) alarm: Pin<Box<Sleep>>,
    /// The moment at which the server was last made to remember the scripts.
    scripts_loaded_at: Instant,
}

/// The answers to commands that were sent together. The memory is used again.
type AnswersFuture = ReusableBoxFuture<'static, RedisResult<Few<Value>>>;

/// Commands that were sent together.
struct Flight {
    answers: AnswersFuture,
    /// The moment from which the wait for the answers is measured.
    since: Instant,
    /// One for each command, or one for all.
    purposes: Few<Purpose>,
}

pub(super) enum Purpose {
    /// A caller waits for the answer.
    Call(QueuedCall),
    /// Callers wait for the answers to acquisitions and releases that were made by one call.
    Several(Vec<QueuedCall>),
    /// Any answer shows that the connection is alive. If the answer has facts about the server, they are judged.
    Heartbeat,
    /// The restart check's question, and when it was asked.
    Check(Moment),
    /// The server remembers the scripts again.
    Scripts,
    /// The question how long these keys live, for which callers wait.
    Watch(Vec<Arc<[u8]>>),
}

impl CommandPipeline {
    pub(super) fn new(opened: Opened, extras: CallExtras, inbox: &Arc<Inbox>, joins: bool) -> Self {
        let now = inbox.time.now();
        Self {
            opened,
            extras,
            commands: Few::new(),
            purposes: Few::new(),
            acquisitions: Vec::new(),
            releases: Vec::new(),
            spare_calls: Vec::new(),
            joins_from: joins.then_some(now),
            flights: VecDeque::new(),
            spare: None,
            landed: Few::new().into_iter().zip(Few::new()),
            since: now,
            waker: Waker::noop().clone(),
            heard: now,
            alarm: Box::pin(inbox.time.sleep(inbox.options.suspect_after)),
            inbox: Arc::clone(inbox),
            scripts_loaded_at: now,
        }
    }

    /// Returns the library's time: a test may have stopped the clock of this runtime.
    pub(super) fn now(&self) -> Instant {
        self.inbox.time.now()
    }

    /// Sends several commands together. The answer is the list of their answers.
    pub(super) fn send_commands(&mut self, commands: Pipeline, purpose: Purpose) {
        self.launch_all(commands, smallvec![purpose]);
    }

    /// Adds a command to those that are sent together: the crate has its costs for each sending.
    pub(super) fn add(&mut self, command: Cmd, purpose: Purpose) {
        self.commands.push(command);
        self.purposes.push(purpose);
        if self.purposes.len() == MOST_TOGETHER {
            self.send();
        }
    }

    /// Adds a caller's call, maybe to the next call for several. Calls that have a key in common keep their order.
    pub(super) fn submit(&mut self, queued: QueuedCall) {
        let call = queued.call();
        if let Some(Flight {
            since, purposes, ..
        }) = self.flights.front()
            && let [Purpose::Call(late)] = &purposes[..]
            && call.keys().any(|key| key == late.call().first_key())
            && *since + self.inbox.options.suspect_after / 5 <= self.now()
        {
            // The call ahead has been out for long and has a key of this one, so its answer may be a huge value. Its key
            // is noted after a fifth of `suspect_after`, because the caller gives up after a quarter.
            self.extras.huge.add(late.call());
        }
        let mut joins = self.joins_from.is_some_and(|from| from <= self.heard)
            && call.batch_script.is_some()
            && !self.extras.huge.has_any_of(call);
        let joins_releases = joins && call.is_release();
        // The acquisitions of one call have one ttl.
        let others = self.acquisitions.first();
        joins &= joins_releases || others.is_none_or(|it| it.call().ttl() == call.ttl());
        let shares_key_with = |it: &QueuedCall| call.keys().any(|key| key == it.call().first_key());
        // A call must not overtake one with a key of its own, so what was gathered goes first: acquisitions that join
        // would overtake releases, and a call by itself would overtake both.
        if !joins_releases && self.releases.iter().any(shares_key_with)
            || !joins && self.acquisitions.iter().any(shares_key_with)
        {
            self.join();
        }
        if !joins {
            return self.add_call(queued, false);
        }
        let several = if joins_releases {
            &mut self.releases
        } else {
            &mut self.acquisitions
        };
        several.push(queued);
        if several.len() == MOST_TOGETHER {
            self.join();
        }
    }

    /// Adds what may go in one call, as one call if there are several.
    fn join(&mut self) {
        if self.acquisitions.is_empty() && self.releases.is_empty() {
            return;
        }
        let mut calls = std::mem::replace(
            &mut self.acquisitions,
            std::mem::take(&mut self.spare_calls),
        );
        let taken = calls.len();
        calls.append(&mut self.releases);
        let script = calls.first().and_then(|it| it.call().batch_script);
        if let (Some(script), 2..) = (script, calls.len()) {
            let command = many(script, calls.iter().map(QueuedCall::call), taken);
            self.add(command, Purpose::Several(calls));
        } else if let Some(alone) = calls.pop() {
            self.spare_calls = calls;
            self.add_call(alone, false);
        }
    }

    /// The replies to `count` calls, by the server's answer to a call for all of them. An error: it was refused.
    pub(super) fn replies(&mut self, count: usize, value: Value) -> Result<Vec<Value>, NodeError> {
        let text = match value {
            Value::Int(1) => return Ok(vec![value; count]),
            Value::List(list) if list.len() == count => return Ok(list),
            Value::Error(text) => text,
            _ => return Err(garbled()),
        };
        if text.starts_with(b"NOSCRIPT") {
            self.load_scripts();
        } else {
            // The ACL has changed, or a proxy stands before several servers.
            self.joins_from = Some(self.heard + REFUSED_FOR);
        }
        let refusal = NodeError::server(&text);
        let detail =
            format!("it was sent together with others, which the server refused: {refusal}");
        // The error does not have the kind of the refusal, which may concern the key of another call.
        Err(if was_not_run(&text) {
            NodeError::unsent(NodeErrorKind::Server, detail)
        } else {
            NodeError::sent(NodeErrorKind::Server, detail)
        })
    }

    /// Adds a call. `with_text` is for a script that the server has forgotten.
    pub(super) fn add_call(&mut self, queued: QueuedCall, with_text: bool) {
        let command = command(queued.call(), &self.extras, with_text);
        self.add(command, Purpose::Call(queued));
    }

    /// Makes the server remember the scripts again, after a `NOSCRIPT`. That of a call that was sent before the last
    /// reload is expected, so it triggers no other one.
    pub(super) fn load_scripts(&mut self) {
        if self.since >= self.scripts_loaded_at {
            let mut scripts = Pipeline::new();
            add_scripts(&mut scripts);
            self.send_commands(scripts, Purpose::Scripts);
            self.scripts_loaded_at = self.now();
        }
    }

    /// Sends what was added.
    pub(super) fn send(&mut self) {
        self.join();
        let mut commands = std::mem::take(&mut self.commands);
        let purposes = std::mem::take(&mut self.purposes);
        if commands.len() > 1 {
            let mut several = Pipeline::with_capacity(commands.len());
            for command in commands {
                several.add_command(command);
            }
            self.launch_all(several, purposes);
        } else if let Some(alone) = commands.pop() {
            let mut connection = self.opened.connection.clone();
            // The crate has less to do for a command by itself.
            let answers = async move {
                let answer = connection.send_packed_command(&alone);
                Ok(smallvec![value(answer.await?)])
            };
            self.launch(answers, purposes);
        }
    }

    fn launch_all(&mut self, commands: Pipeline, purposes: Few<Purpose>) {
        let mut connection = self.opened.connection.clone();
        let answers = async move {
            let answers = connection.send_packed_commands(&commands, 0, commands.len());
            Ok(answers.await?.into_iter().map(value).collect())
        };
        self.launch(answers, purposes);
    }

    /// The crate writes commands in the order in which their futures are polled first.
    fn launch(
        &mut self,
        answers: impl Future<Output = RedisResult<Few<Value>>> + Send + 'static,
        purposes: Few<Purpose>,
    ) {
        let since = self.now();
        let mut answers = match self.spare.take() {
            Some(mut spare) => {
                spare.set(answers);
                spare
            }
            None => ReusableBoxFuture::new(answers),
        };
        // The connection's queue never fills, so the first poll hands the commands over. It is ready at
        // once only if the connection has ended. No waker is registered then, so the result stays for `next`.
        let mut context = Context::from_waker(&self.waker);
        if let Poll::Ready(done) = answers.poll(&mut context) {
            answers.set(std::future::ready(done));
            self.waker.wake_by_ref();
        }
        self.ring_by(since + self.inbox.options.suspect_after);
        self.flights.push_back(Flight {
            answers,
            since,
            purposes,
        });
    }

    /// The next answer, and what it is for. Without one, the oldest flight wakes the actor.
    pub(super) fn next(&mut self) -> Result<Option<(Purpose, Value)>, NodeError> {
        let mut context = Context::from_waker(&self.waker);
        while self.landed.len() == 0 {
            let Some(flight) = self.flights.front_mut() else {
                return Ok(None);
            };
            let Poll::Ready(answers) = flight.answers.poll(&mut context) else {
                return Ok(None);
            };
            let mut values = answers.map_err(|error| broken(&error))?;
            if values.iter().any(is_of_replica) {
                // The server did not serve the operation. If it is a release, it is owed to the next master. A replica
                // serves nothing, so the pauses between connections go on to grow.
                self.inbox.has_served.store(false, Ordering::Relaxed);
                return Err(lost(IS_REPLICA));
            }
            if flight.purposes.len() == 1 && values.len() > 1 {
                values = smallvec![Value::List(values.into_vec())];
            }
            if flight.purposes.len() != values.len() {
                return Err(garbled());
            }
            if let Some(flight) = self.flights.pop_front() {
                self.since = flight.since;
                self.spare = Some(flight.answers);
                self.landed = flight.purposes.into_iter().zip(values);
            }
            self.heard = self.now();
        }
        Ok(self.landed.next())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// The age of the oldest unanswered operation.
    pub(super) fn waited(&self, now: Instant) -> Option<Duration> {
        let oldest = self.flights.front()?;
        Some(now.saturating_duration_since(oldest.since))
    }

    /// Takes out the calls that have no answer, or whose answer was not handled.
    pub(super) fn end(&mut self) -> Vec<QueuedCall> {
        let answered = self.landed.by_ref().map(|(purpose, _)| purpose);
        let flights = self.flights.drain(..).flat_map(|flight| flight.purposes);
        let purposes = answered.chain(flights).chain(self.purposes.drain(..));
        let calls = purposes.flat_map(|purpose| match purpose {
            Purpose::Call(call) => vec![call],
            Purpose::Several(calls) => calls,
            _ => Vec::new(),
        });
        calls
            .chain(self.acquisitions.drain(..))
            .chain(self.releases.drain(..))
            .collect()
    }

    /// Makes the alarm fire at `moment` at the latest.
    pub(super) fn ring_by(&mut self, moment: Instant) {
        if self.alarm.deadline() > moment {
            self.alarm.as_mut().reset(moment);
        }
    }
}
