//! The pipeline of commands over one connection. Answers come in the order of the commands.
//!
//! Each command costs the crate and the server time, and a process with many callers often has several commands to
//! send. So acquisitions and releases of one key each are joined: those of one write become one script call. In the
//! script and in the write, acquisitions and other calls go ahead of releases of *other* keys. Calls with a key in
//! common keep their order. Each lock is judged by its own reply. An acquisition without a valid reply has failed, and
//! is never sent again. A release without a valid reply is sent again in a call of its own.

use std::collections::VecDeque;
use std::future::{Future, ready};
use std::iter::Zip;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ::redis::{Cmd, Pipeline, RedisResult};
use smallvec::{IntoIter, SmallVec, smallvec};
use tokio::time::{Instant, Sleep};

use crate::env::Moment;
use crate::node::{Call, NodeError, NodeErrorKind, Value, was_not_run};
use crate::redis::errors::{IS_REPLICA, garbled, lost};
use crate::redis::inbox::{Inbox, QueuedCall};

use super::command::{CallExtras, broken, command, is_of_replica, many, value};
use super::handshake::add_scripts;
use super::open::Opened;
use super::replica_wait::ReplicaWait;

/// The most calls in one write, because their callers get their answers together. Also the most acquisitions, and the
/// most releases, in one script call, because the server serves nothing else while the script runs.
const MOST_TOGETHER: usize = 64;

/// The pause before calls are joined again, after the server has refused a call for several.
const REFUSED_FOR: Duration = Duration::from_secs(600);

/// A short list. Most writes have one command, which then needs no allocation of its own.
type Few<T> = SmallVec<[T; 1]>;

/// A connection, with its unanswered commands. An operation needs no task, no channel, and no mutex across an await.
pub(super) struct CommandPipeline {
    pub(super) opened: Opened,
    pub(super) extras: CallExtras,
    pub(super) inbox: Arc<Inbox>,
    /// The wait that ends each write of votes; `None` unless votes depend on replicas.
    replica_wait: Option<ReplicaWait>,
    /// The commands of the next write.
    commands: Vec<Cmd>,
    purposes: Few<Purpose>,
    /// The acquisitions, and after them the releases, of the next call for several.
    acquisitions: Vec<QueuedCall>,
    releases: Vec<QueuedCall>,
    /// The marks of the keys of `releases`. Two keys may have one mark.
    release_marks: u128,
    /// The moment from which calls are joined; `None` if this connection joins no calls.
    joins_from: Option<Instant>,
    /// Unanswered writes, in the order in which the server answers.
    flights: VecDeque<Flight>,
    /// Answers of one flight that wait to be handled.
    landed: Zip<IntoIter<[Purpose; 1]>, IntoIter<[Value; 1]>>,
    /// The moment at which the flight of these answers was sent.
    pub(super) since: Instant,
    /// Wakes the actor, which serves the connection.
    pub(super) waker: Waker,
    /// The moment of the last answer.
    pub(super) heard: Instant,
    /// Fires when something may be due. To save work, the alarm is set again only after it fired or if it would fire
    /// late.
    pub(super) alarm: Pin<Box<Sleep>>,
    /// The moment at which the scripts were last loaded.
    scripts_loaded_at: Instant,
}

/// The answers to one write.
type AnswersFuture = Pin<Box<dyn Future<Output = RedisResult<Few<Value>>> + Send>>;

/// An unanswered write.
struct Flight {
    answers: AnswersFuture,
    /// The moment of the write.
    since: Instant,
    /// The purpose of each command, or a single purpose for all of them.
    purposes: Few<Purpose>,
    /// The number of commands at the end that wait for replicas. They have no purpose.
    waits: usize,
}

pub(super) enum Purpose {
    /// The answer belongs to a caller's call.
    Call(QueuedCall),
    /// The answer has the replies to acquisitions and releases that were sent as one call.
    Several(Vec<QueuedCall>),
    /// Any answer shows that the connection works. Facts about the server are vetted.
    Heartbeat,
    /// The answer belongs to the restart check, which asked at this moment.
    Check(Moment),
    /// The answers belong to loaded scripts, and are ignored.
    Scripts,
    /// The answers tell the ttls and values of these keys, for which callers wait.
    Watch(Vec<Arc<[u8]>>),
}

impl Purpose {
    /// Returns the callers' calls that the answer belongs to.
    pub(super) fn calls(&self) -> &[QueuedCall] {
        match self {
            Self::Call(queued) => std::slice::from_ref(queued),
            Self::Several(calls) => calls,
            _ => &[],
        }
    }
}

impl CommandPipeline {
    pub(super) fn new(opened: Opened, extras: CallExtras, inbox: &Arc<Inbox>, joins: bool) -> Self {
        let now = inbox.time.now();
        Self {
            opened,
            extras,
            replica_wait: ReplicaWait::new(&inbox.options),
            commands: Vec::new(),
            purposes: Few::new(),
            acquisitions: Vec::new(),
            releases: Vec::new(),
            release_marks: 0,
            joins_from: joins.then_some(now),
            flights: VecDeque::new(),
            landed: Few::new().into_iter().zip(Few::new()),
            since: now,
            waker: Waker::noop().clone(),
            heard: now,
            alarm: Box::pin(inbox.time.sleep(inbox.options.suspect_after)),
            inbox: Arc::clone(inbox),
            scripts_loaded_at: now,
        }
    }

    /// Returns the library's time, because a test may have stopped the runtime's clock.
    pub(super) fn now(&self) -> Instant {
        self.inbox.time.now()
    }

    /// Sends several commands in one write of their own. Their answers are delivered as one list.
    pub(super) fn send_commands(&mut self, commands: Pipeline, purpose: Purpose) {
        self.launch_all(commands, smallvec![purpose], 0);
    }

    /// Sends the commands of a heartbeat in one write. With `replicas`, a wait ends the write, so that an idle node
    /// notices its replicas too.
    pub(super) fn send_heartbeat(&mut self, mut commands: Pipeline) {
        let asked = commands.len();
        for command in self.replica_wait.iter().flat_map(ReplicaWait::probe) {
            commands.add_command(command);
        }
        let waits = commands.len() - asked;
        self.launch_all(commands, smallvec![Purpose::Heartbeat], waits);
    }

    /// Adds a command to the next write. Commands share a write, because each write costs the crate time.
    pub(super) fn add(&mut self, command: Cmd, purpose: Purpose) {
        self.commands.push(command);
        self.purposes.push(purpose);
        if self.purposes.len() == MOST_TOGETHER {
            self.send();
        }
    }

    /// Adds a caller's call to the next write, joined if possible. Calls with a key in common keep their order.
    pub(super) fn submit(&mut self, queued: QueuedCall) {
        let call = queued.call();
        if let Some(Flight {
            since, purposes, ..
        }) = self.flights.front()
            && let [Purpose::Call(late)] = &purposes[..]
            && call.keys().any(|key| key == late.call().first_key())
            && *since + self.inbox.options.suspect_after / 5 <= self.now()
        {
            // The oldest unanswered call shares a key with this one and is late, so its answer may be a huge value. A
            // fifth of `suspect_after` counts as late, because the caller gives up after a quarter.
            self.extras.huge.add(late.call());
        }
        let mut joins = self.joins_from.is_some_and(|from| from <= self.heard)
            && call.batch_script.is_some()
            && !self.extras.huge.has_any_of(call);
        let joins_releases = joins && call.is_release();
        // All acquisitions of one call for several must have one script and one ttl.
        let goes_with =
            |other: &Call| (other.batch_script, other.ttl()) == (call.batch_script, call.ttl());
        let others = self.acquisitions.first();
        joins &= joins_releases || others.is_none_or(|it| goes_with(it.call()));
        let shares_key_with = |it: &QueuedCall| call.keys().any(|key| key == it.call().first_key());
        // Calls with a key in common keep their order, so add the gathered calls first if this call would overtake one.
        // A joined acquisition would overtake releases. A call that is not joined would overtake both.
        let is_marked = |key| self.release_marks & mark(key) != 0;
        let may_share = !self.releases.is_empty() && call.keys().any(is_marked);
        if !joins_releases && may_share && self.releases.iter().any(shares_key_with)
            || !joins && self.acquisitions.iter().any(shares_key_with)
        {
            self.join();
        }
        if !joins {
            return self.add_call(queued, false);
        }
        let several = if joins_releases {
            self.release_marks |= mark(call.first_key());
            &mut self.releases
        } else {
            &mut self.acquisitions
        };
        several.push(queued);
        if several.len() == MOST_TOGETHER {
            self.join();
        }
    }

    /// Adds the gathered calls to the next write. Two or more become one call for several.
    fn join(&mut self) {
        self.release_marks = 0;
        let taken = self.acquisitions.len();
        if taken + self.releases.len() < 2 {
            let alone = self.acquisitions.pop().or_else(|| self.releases.pop());
            return alone.into_iter().for_each(|it| self.add_call(it, false));
        }
        let mut calls = std::mem::take(&mut self.acquisitions);
        calls.append(&mut self.releases);
        if let Some(script) = calls[0].call().batch_script {
            let together = calls.iter().map(QueuedCall::call);
            let command = many(script, together, taken, &self.extras);
            self.add(command, Purpose::Several(calls));
        }
    }

    /// Returns the replies to `count` calls that were sent as one script call, from its answer. Fails if the server
    /// refused the script call, or if the answer is invalid.
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
            // The ACL has changed, or a proxy distributes keys to several servers. Stop joining for some time.
            self.joins_from = Some(self.heard + REFUSED_FOR);
        }
        let refusal = NodeError::server(&text);
        let detail =
            format!("it was sent together with others, which the server refused: {refusal}");
        // Use a general kind of error, because the refusal may concern the key of another call.
        Err(if was_not_run(&text) {
            NodeError::unsent(NodeErrorKind::Server, detail)
        } else {
            NodeError::sent(NodeErrorKind::Server, detail)
        })
    }

    /// Adds a call to the next write. `with_text` is for a script that the server has forgotten.
    pub(super) fn add_call(&mut self, queued: QueuedCall, with_text: bool) {
        let command = command(queued.call(), &self.extras, with_text);
        self.add(command, Purpose::Call(queued));
    }

    /// Loads the scripts again after a `NOSCRIPT`. Does nothing if the call was sent before the last reload, because a
    /// `NOSCRIPT` is expected then.
    pub(super) fn load_scripts(&mut self) {
        if self.since >= self.scripts_loaded_at {
            let mut scripts = Pipeline::new();
            add_scripts(&mut scripts);
            self.send_commands(scripts, Purpose::Scripts);
            self.scripts_loaded_at = self.now();
        }
    }

    /// Sends the commands that were added, in one write.
    pub(super) fn send(&mut self) {
        self.join();
        let purposes = std::mem::take(&mut self.purposes);
        if let Some(replicas) = &self.replica_wait {
            self.commands.extend(replicas.commands(&purposes));
        }
        if self.commands.len() > 1 {
            let waits = self.commands.len() - purposes.len();
            let mut several = Pipeline::with_capacity(self.commands.len());
            for command in self.commands.drain(..) {
                several.add_command(command);
            }
            self.launch_all(several, purposes, waits);
        } else if let Some(alone) = self.commands.pop() {
            let mut connection = self.opened.connection.clone();
            // A single command costs the crate less than a pipeline with one command.
            let answers = Box::pin(async move {
                let answer = connection.send_packed_command(&alone);
                Ok(smallvec![value(answer.await?)])
            });
            self.launch(answers, purposes, 0);
        }
    }

    fn launch_all(&mut self, commands: Pipeline, purposes: Few<Purpose>, waits: usize) {
        let mut connection = self.opened.connection.clone();
        let answers = Box::pin(async move {
            let answers = connection.send_packed_commands(&commands, 0, commands.len());
            Ok(answers.await?.into_iter().map(value).collect())
        });
        self.launch(answers, purposes, waits);
    }

    /// Hands commands to the crate by the first poll of their future. The crate writes in the order of first polls.
    fn launch(&mut self, mut answers: AnswersFuture, purposes: Few<Purpose>, waits: usize) {
        let since = self.now();
        // The first poll hands the commands over, because the connection's queue never fills. It completes at once only
        // if the connection has ended. Then no waker is registered, so keep the result for `next` and wake the actor.
        let mut context = Context::from_waker(&self.waker);
        if let Poll::Ready(done) = answers.as_mut().poll(&mut context) {
            answers = Box::pin(ready(done));
            self.waker.wake_by_ref();
        }
        self.ring_by(since + self.inbox.options.suspect_after);
        self.flights.push_back(Flight {
            answers,
            since,
            purposes,
            waits,
        });
    }

    /// Returns the next answer, with its purpose. If there is none yet, the oldest flight wakes the actor later.
    pub(super) fn next(&mut self) -> Result<Option<(Purpose, Value)>, NodeError> {
        if self.landed.len() > 0 {
            return Ok(self.landed.next());
        }
        let Some(flight) = self.flights.front_mut() else {
            return Ok(None);
        };
        let mut context = Context::from_waker(&self.waker);
        let Poll::Ready(answers) = flight.answers.as_mut().poll(&mut context) else {
            return Ok(None);
        };
        let mut values = answers.map_err(|error| broken(&error))?;
        if values.iter().any(is_of_replica) {
            // A replica serves no operation. Its releases go to the next master, and the pauses between attempts
            // keep growing.
            self.inbox.has_served.store(false, Ordering::Relaxed);
            return Err(lost(IS_REPLICA));
        }
        if flight.waits > 0
            && let Some(replicas) = &self.replica_wait
        {
            let calls = values.len().saturating_sub(flight.waits);
            replicas.judge(&values[calls..])?;
            values.truncate(calls);
        }
        if flight.purposes.len() == 1 && values.len() > 1 {
            values = smallvec![Value::List(values.into_vec())];
        }
        if flight.purposes.len() != values.len() {
            return Err(garbled());
        }
        (self.since, self.heard) = (flight.since, self.inbox.time.now());
        if let Some(flight) = self.flights.pop_front() {
            self.landed = flight.purposes.into_iter().zip(values);
        }
        Ok(self.landed.next())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// True while a write waits for replicas. The server would serve later calls only after that wait, so they gather,
    /// and share the next one.
    pub(super) fn awaits_replicas(&self) -> bool {
        self.replica_wait.is_some() && self.flights.iter().any(|flight| flight.waits > 0)
    }

    /// Returns the age of the oldest unanswered operation.
    pub(super) fn waited(&self, now: Instant) -> Option<Duration> {
        let oldest = self.flights.front()?;
        Some(now.saturating_duration_since(oldest.since))
    }

    /// Takes out all calls whose answers are missing or unhandled.
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

/// Returns one of 128 marks for `key`. Keys with different marks are different, and marks cost less to compare.
fn mark(key: &[u8]) -> u128 {
    let (start, end) = (key.first_chunk(), key.last_chunk());
    let [start, end] = [start, end].map(|it| it.map_or(0, |it| u64::from_le_bytes(*it)));
    // The highest bits of the product depend on all bytes.
    1 << ((start.rotate_left(32) ^ end).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57)
}
