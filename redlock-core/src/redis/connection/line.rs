//! The line to a server: what was sent over a connection, and what came back.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{Cmd, Pipeline, RedisResult, Value as Theirs};
use tokio::time::{Instant, Sleep};

use crate::node::{NodeError, Value};
use crate::redis::errors::lost;
use crate::redis::inbox::{Inbox, Owed, Submission};
use crate::redis::options::RedisOptions;

use super::command::{Dialect, broken, command, is_of_replica, value, words};
use super::questions::introduce;

/// If the alarm fires later than this, its runtime stood still.
const LATE: Duration = Duration::from_millis(50);

/// The most calls that are sent together. Their callers get their answers together.
const MOST_TOGETHER: usize = 64;

/// The shortest time that timers of tokio tell apart.
const A_MOMENT: Duration = Duration::from_millis(1);

/// A connection, with what was sent over it and is not answered. It holds no mutex across an await, and needs no task or
/// channel for an operation.
pub(super) struct Line {
    connection: MultiplexedConnection,
    pub(super) dialect: Dialect,
    pub(super) inbox: Arc<Inbox>,
    pub(super) options: Arc<RedisOptions>,
    /// Calls that are sent together.
    added: Vec<(Cmd, Purpose)>,
    /// In the order in which the server answers.
    flights: VecDeque<Flight>,
    /// Answers that came together, and are not handled yet.
    landed: VecDeque<Landed>,
    /// The number of calls of callers among them.
    pub(super) calls: usize,
    /// The number of flights so far.
    pub(super) launched: usize,
    /// The moment of the last answer.
    pub(super) heard: Instant,
    /// Fires when something may be due. It is reset only when it fires, or would fire too late, and not for each
    /// operation.
    alarm: Pin<Box<Sleep>>,
    /// True if the crate's task was given time to read since the last answer.
    had_time_to_read: bool,
    /// True while the server is made to remember the scripts again.
    is_loading: bool,
    /// True if a replica's answer ends the connection: the server is no longer the node's master.
    leaves_a_replica: bool,
}

/// A command, or several that are sent together, and what the answer is for.
struct Flight {
    answer: Pin<Box<dyn Future<Output = RedisResult<Theirs>> + Send>>,
    /// The moment from which the wait for the answer is measured.
    since: Instant,
    purpose: Purpose,
}

pub(super) enum Purpose {
    /// A caller waits for the answer.
    Call(Submission),
    /// Callers wait for the answers to acquisitions, and to the releases that follow them.
    Many(Vec<Submission>),
    /// The answer is a list, with an answer for each of these.
    Each(Vec<Purpose>),
    /// The server remembers the scripts again.
    Scripts,
    /// A release from before the connection, or that was answered with an error.
    Owed(Owed),
    /// Any answer shows that the connection is alive.
    Heartbeat,
    /// The restart check's question.
    Check,
    /// The question about the server's memory.
    Memory,
    /// The server is to send messages about keys.
    Tracking,
    /// The question how long the keys of a waiting caller live, by the number of its watch.
    Keys(u64),
}

/// An answer of the server.
pub(super) struct Landed {
    pub(super) purpose: Purpose,
    pub(super) since: Instant,
    pub(super) value: Value,
}

impl Line {
    pub(super) fn new(
        connection: MultiplexedConnection,
        dialect: Dialect,
        inbox: &Arc<Inbox>,
        options: &Arc<RedisOptions>,
        leaves_a_replica: bool,
    ) -> Self {
        Self {
            connection,
            dialect,
            added: Vec::new(),
            flights: VecDeque::new(),
            landed: VecDeque::new(),
            calls: 0,
            launched: 0,
            heard: inbox.time.now(),
            alarm: inbox.time.sleep(options.suspect_after),
            inbox: Arc::clone(inbox),
            options: Arc::clone(options),
            had_time_to_read: false,
            is_loading: false,
            leaves_a_replica,
        }
    }

    /// By the library's time: a test may have stopped the clock of this runtime.
    pub(super) fn now(&self) -> Instant {
        self.inbox.time.now()
    }

    /// Sends a command. The crate writes commands in the order in which their futures are polled first.
    pub(super) fn send(&mut self, command: Cmd, since: Instant, purpose: Purpose) {
        let mut connection = self.connection.clone();
        let answer = async move { connection.send_packed_command(&command).await };
        self.launch(Box::pin(answer), since, purpose);
    }

    /// Sends the command of these words.
    pub(super) fn ask<'a>(
        &mut self,
        question: impl IntoIterator<Item = &'a [u8]>,
        purpose: Purpose,
    ) {
        let now = self.now();
        self.send(words(question.into_iter()), now, purpose);
    }

    /// Sends several commands together. The answer is the list of their answers.
    pub(super) fn ask_all(&mut self, commands: Pipeline, purpose: Purpose) {
        let now = self.now();
        self.send_all(commands, now, purpose);
    }

    fn send_all(&mut self, commands: Pipeline, since: Instant, purpose: Purpose) {
        let mut connection = self.connection.clone();
        let answer = async move {
            let answers = connection.send_packed_commands(&commands, 0, commands.len());
            Ok(Theirs::Array(answers.await?))
        };
        self.launch(Box::pin(answer), since, purpose);
    }

    /// Adds a call to those that are sent together: the crate has its costs for each sending.
    pub(super) fn add(&mut self, command: Cmd, purpose: Purpose, since: Instant) {
        self.added.push((command, purpose));
        if self.added.len() == MOST_TOGETHER {
            self.send_added(since);
        }
    }

    pub(super) fn add_call(&mut self, submission: Submission, since: Instant) {
        let command = command(&submission.call, &self.dialect, false);
        self.add(command, Purpose::Call(submission), since);
    }

    pub(super) fn send_added(&mut self, since: Instant) {
        if self.added.len() < 2 {
            if let Some((command, purpose)) = self.added.pop() {
                self.send(command, since, purpose);
            }
            return;
        }
        let (mut commands, mut purposes) = (Pipeline::new(), Vec::new());
        for (command, purpose) in self.added.drain(..) {
            commands.add_command(command);
            purposes.push(purpose);
        }
        self.send_all(commands, since, Purpose::Each(purposes));
    }

    /// Sends a caller's call with the text of its script, which the server has forgotten. The server has answered, so
    /// the wait for this answer begins anew.
    pub(super) fn send_with_text(&mut self, submission: Submission) {
        let command = command(&submission.call, &self.dialect, true);
        self.send(command, self.heard, Purpose::Call(submission));
    }

    pub(super) fn send_owed(&mut self, owed: Owed, with_text: bool, since: Instant) {
        let command = command(&owed.call, &self.dialect, with_text);
        self.send(command, since, Purpose::Owed(owed));
    }

    /// Makes the server remember the scripts again.
    pub(super) fn load_scripts(&mut self) {
        if !std::mem::replace(&mut self.is_loading, true) {
            let mut scripts = Pipeline::new();
            introduce(&mut scripts);
            self.ask_all(scripts, Purpose::Scripts);
        }
    }

    fn launch(
        &mut self,
        mut answer: Pin<Box<dyn Future<Output = RedisResult<Theirs>> + Send>>,
        since: Instant,
        purpose: Purpose,
    ) {
        // The connection's queue never fills, so the first poll hands the command over. The poll can only fail at once if
        // the connection has ended, which `next` finds.
        let handed_over = answer
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        let answer: Pin<Box<dyn Future<Output = _> + Send>> = match handed_over {
            Poll::Pending => answer,
            Poll::Ready(done) => Box::pin(std::future::ready(done)),
        };
        self.watch_by(since + self.options.suspect_after);
        self.calls += purpose.calls();
        self.launched += 1;
        self.flights.push_back(Flight {
            answer,
            since,
            purpose,
        });
    }

    /// The next answer. Without one, leaves the waker with the oldest flight.
    pub(super) fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Landed>, NodeError> {
        if self.landed.is_empty() {
            self.read(context)?;
        }
        let landed = self.landed.pop_front();
        if let Some(Landed { purpose, .. }) = &landed {
            self.calls -= purpose.calls();
            self.is_loading &= !matches!(purpose, Purpose::Scripts);
        }
        Ok(landed)
    }

    fn read(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(flight) = self.flights.front_mut() else {
            return Ok(());
        };
        let Poll::Ready(answer) = flight.answer.as_mut().poll(context) else {
            return Ok(());
        };
        let value = value(answer.map_err(|error| broken(&error))?);
        if self.leaves_a_replica && is_of_replica(&value) {
            // The server did not serve the operation. If it is a release, it is owed to the next master.
            return Err(lost("the server is a replica now"));
        }
        self.heard = self.now();
        self.had_time_to_read = false;
        let Some(Flight { since, purpose, .. }) = self.flights.pop_front() else {
            return Ok(());
        };
        let landed = |(purpose, value)| Landed {
            purpose,
            since,
            value,
        };
        match (purpose, value) {
            (Purpose::Each(purposes), Value::List(values)) => {
                let missing = || Value::error("ERR an answer is missing");
                let values = values.into_iter().chain(std::iter::repeat_with(missing));
                self.landed
                    .extend(purposes.into_iter().zip(values).map(landed));
            }
            alone => self.landed.push_back(landed(alone)),
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// The age of the oldest unanswered operation.
    pub(super) fn waited(&self, now: Instant) -> Option<Duration> {
        let oldest = self.flights.front()?;
        Some(now.saturating_duration_since(oldest.since))
    }

    /// Takes out what has no answer, or whose answer was not handled.
    pub(super) fn end(&mut self) -> Vec<Purpose> {
        let mut purposes: Vec<_> = self.landed.drain(..).map(|it| it.purpose).collect();
        for flight in self.flights.drain(..) {
            match flight.purpose {
                Purpose::Each(each) => purposes.extend(each),
                purpose => purposes.push(purpose),
            }
        }
        purposes.extend(self.added.drain(..).map(|(_, purpose)| purpose));
        purposes
    }

    /// Makes the alarm fire at `moment` at the latest.
    pub(super) fn watch_by(&mut self, moment: Instant) {
        if self.alarm.deadline() > moment {
            self.alarm.as_mut().reset(moment);
        }
    }

    /// The present time if the alarm fires, and true if it fires late because the runtime stood still.
    pub(super) fn fired(&mut self, context: &mut Context<'_>) -> Option<(Instant, bool)> {
        self.alarm.as_mut().poll(context).is_ready().then(|| {
            let now = self.now();
            let late = now.saturating_duration_since(self.alarm.deadline());
            (now, late > LATE)
        })
    }

    /// True if the answer may be there, and the crate's task could not read it. Once for each answer: on a slow runtime
    /// each alarm is late.
    pub(super) fn may_still_read(&mut self, stood_still: bool) -> bool {
        stood_still && !std::mem::replace(&mut self.had_time_to_read, true)
    }

    pub(super) fn set_alarm(&mut self, now: Instant, after: Duration) {
        self.alarm.as_mut().reset(now + after.max(A_MOMENT));
    }
}

impl Purpose {
    /// The number of calls of callers.
    fn calls(&self) -> usize {
        match self {
            Self::Call(_) => 1,
            Self::Many(calls) => calls.len(),
            Self::Each(purposes) => purposes.iter().map(Self::calls).sum(),
            _ => 0,
        }
    }
}
