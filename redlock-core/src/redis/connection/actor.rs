//! Serves a connection, from its first call to its end.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use ::redis::Pipeline;
use tokio::time::Instant;

use crate::logging::log_node;
use crate::model::brief::Brief;
use crate::node::{Answer, Call, Node as _, NodeError, Value, Vote};
use crate::panics::caught;
use crate::redis::errors::{garbled, lost};
use crate::redis::inbox::{Batch, Inbox, QueuedCall};
use crate::redis::vetting::{ServerFacts, ServerRole};

use super::check::ServerCheck;
use super::command::{CallExtras, is_error};
use super::connect::Connected;
use super::error_streaks::{ErrorStreaks, MANY_ERRORS};
use super::handshake::ask_for_facts;
use super::pipeline::{CommandPipeline, Purpose};
use super::watches::Watches;

/// The most operations that a lone caller has in flight on one node. The caller has just submitted two. The two before
/// may be unanswered, because the caller continued at a majority and this node may be the slowest.
const QUIET: usize = 4;

/// The pause before owed releases are sent again on the same connection.
const OWED_PAUSE: Duration = Duration::from_secs(1);

/// The shortest time for which a server is suspect before it counts as dead. After this process has stood still, the
/// crate's task needs this time to read the answers that have arrived.
const TO_READ: Duration = Duration::from_millis(20);

/// The resolution of tokio's timers.
const A_MOMENT: Duration = Duration::from_millis(1);

/// Serves a connection, as a part of the driver's task.
pub(in crate::redis) struct Actor<'a> {
    pipe: CommandPipeline,
    check: &'a mut ServerCheck,
    watches: Watches,
    role: ServerRole,
    /// The last logged faults of the server.
    warned: Option<String>,
    /// The commands of a heartbeat: questions about the server, or `TIME` if the server hides `INFO`.
    heartbeat: Pipeline,
    heartbeat_at: Instant,
    /// The moment to send owed releases again, if this connection owes any.
    retry_at: Option<Instant>,
    /// The last batch from the inbox, kept to reuse its memory.
    batch: Batch,
    /// The number of operations answered since the last report to the inbox.
    answered: usize,
    /// True if more submissions are likely. Then the actor yields once before the next write, to batch them.
    is_busy: bool,
    error_streaks: ErrorStreaks,
    is_suspect: bool,
    /// True if an earlier connection ended while an acquisition was unanswered.
    has_lost: bool,
}

/// Completes, with the reason, once the node has to leave this server for another one.
pub(in crate::redis) type Replaced = Pin<Box<dyn Future<Output = NodeError> + Send>>;

impl<'a> Actor<'a> {
    /// Opens the inbox for a new connection, and sends the restart check's question. The question is sent first, then
    /// owed releases, then all other calls.
    pub(in crate::redis) fn new(
        connected: Connected,
        inbox: &Arc<Inbox>,
        check: &'a mut ServerCheck,
        role: ServerRole,
    ) -> Self {
        let greeting = connected.greeting;
        let extras = CallExtras {
            marker: check.marker_key(),
            is_tried: greeting.mend.is_none(),
            huge: inbox.take_huge_keys(),
        };
        let now = inbox.time.now();
        let quarantine = check.begin_connection(greeting.facts.run_id());
        inbox.open(quarantine, greeting.mend);
        // Masters of a Cluster get single calls: they refuse keys of several slots, and any slot may move away.
        let joins = greeting.joins && role != ServerRole::ClusterMaster;
        let mut pipe = CommandPipeline::new(connected.opened, extras, inbox, joins);
        check.send_check(None, &mut pipe);
        let (pool, options) = (&inbox.log.pool, &inbox.options);
        let heartbeat_at = now + options.heartbeat;
        pipe.ring_by(heartbeat_at);
        let mut heartbeat = Pipeline::new();
        if greeting.facts.has_info() {
            ask_for_facts(&mut heartbeat, options.trust_aof);
        } else {
            heartbeat.cmd("TIME");
        }
        let reasons = role.judge(pool, options, &greeting.facts, None);
        Self {
            pipe,
            check,
            watches: connected.watches,
            role,
            warned: reasons.ok().flatten(),
            heartbeat,
            heartbeat_at,
            retry_at: None,
            batch: Batch::default(),
            answered: 0,
            is_busy: false,
            error_streaks: ErrorStreaks::default(),
            is_suspect: false,
            has_lost: inbox.has_lost(),
        }
    }

    /// Serves the connection until it breaks or `replaced` completes. Returns `Ok` once the node was dropped and the
    /// server has answered everything.
    pub(in crate::redis) async fn serve(mut self, mut replaced: Replaced) -> Result<(), NodeError> {
        let ended = poll_fn(|context| match self.step(context) {
            Poll::Pending => replaced.as_mut().poll(context).map(Err),
            ended @ Poll::Ready(_) => ended,
        });
        let ended = ended.await;
        if self.pipe.opened.was_dropped_by_runtime() {
            // The runtime is about to drop this future too. The node is fine, so its gate stays open.
            return pending().await;
        }
        if let Err(error) = &ended {
            self.pipe.inbox.close(error);
            self.abandon_calls(error);
        }
        ended
    }

    fn step(&mut self, context: &mut Context<'_>) -> Poll<Result<(), NodeError>> {
        self.pipe.waker.clone_from(context.waker());
        while let Some((purpose, value)) = self.pipe.next()? {
            self.end_suspicion();
            self.handle_answer(purpose, value)?;
        }
        if !self.pipe.awaits_replicas() {
            if self.waits_for_callers() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.send_submitted();
        }
        if self.batch.has_ended && self.pipe.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.watches.take_messages(context, &mut self.pipe)?;
        self.run_due(context)?;
        Poll::Pending
    }

    /// Sends the operations that callers have submitted.
    fn send_submitted(&mut self) {
        let answered = std::mem::take(&mut self.answered);
        let (pipe, batch) = (&mut self.pipe, &mut self.batch);
        pipe.inbox.take_batch(batch, answered, &pipe.waker);
        if batch.is_empty() {
            return;
        }
        if batch.needs_check {
            self.check.send_check(None, pipe);
        }
        if !batch.watches.is_empty() {
            self.watches.add(&mut batch.watches, pipe);
        }
        self.is_busy = batch.outstanding > QUIET;
        for queued in batch.calls.drain(..) {
            pipe.submit(queued);
        }
        pipe.send();
    }

    /// True if the actor must yield once before the next batch: more operations are likely, and share its write.
    fn waits_for_callers(&mut self) -> bool {
        let others_go_first = self.is_busy && self.pipe.inbox.has_queued();
        self.is_busy &= !others_go_first;
        others_go_first
    }

    /// Handles an answer of the server, according to its purpose.
    fn handle_answer(&mut self, purpose: Purpose, value: Value) -> Result<(), NodeError> {
        let pipe = &mut self.pipe;
        match purpose {
            Purpose::Scripts => return Ok(()),
            Purpose::Watch(names) => {
                self.watches.record_answer(&names, &value, pipe);
                return Ok(());
            }
            // A verdict that refuses the server ends the connection here, before the answer is counted.
            Purpose::Check(asked) => self.check.apply_answer(asked, &value, pipe)?,
            Purpose::Heartbeat => self.vet_again(&value)?,
            Purpose::Several(calls) => self.deliver_several(calls, value),
            // The server was restarted, or its scripts were flushed, so this script has not run. Send a release again,
            // with the text of its script. It then runs for the first time.
            Purpose::Call(queued) if is_error(&value, "NOSCRIPT") => {
                pipe.load_scripts();
                if queued.call().is_release() {
                    pipe.add_call(queued, true);
                    pipe.send();
                    return Ok(());
                }
                let forgotten = b"NOSCRIPT the server had forgotten the scripts";
                self.fail_call(queued, &NodeError::server(forgotten).into_unsent());
            }
            Purpose::Call(queued) => self.deliver(queued, value),
        }
        self.record_answer_time();
        Ok(())
    }

    /// Delivers the replies to calls that were sent as one call.
    fn deliver_several(&mut self, calls: Vec<QueuedCall>, value: Value) {
        let (replies, error) = match self.pipe.replies(calls.len(), value) {
            Ok(replies) => (replies, garbled()),
            Err(error) => (Vec::new(), error),
        };
        let mut replies = replies.into_iter();
        for queued in calls {
            match replies.next() {
                Some(reply) if is_valid_reply(&reply, queued.call()) => self.deliver(queued, reply),
                _ if queued.call().is_release() => self.pipe.add_call(queued, true),
                _ => self.answer_failed(queued, &error),
            }
        }
        self.pipe.send();
    }

    /// Delivers the server's reply to a caller.
    fn deliver(&mut self, queued: QueuedCall, value: Value) {
        // The call has set nothing, because the node's marker is gone or shows a quarantine.
        if is_error(&value, "NOMARKER") {
            self.check.check_at_once(&mut self.pipe);
        }
        self.pipe.extras.huge.note(queued.call(), &value);
        let (call, inbox) = (queued.call(), &self.pipe.inbox);
        let answer = Answer::of_reply(call, value, inbox.epoch());
        let answer = self.check.unless_quarantined(call, answer);
        if let Answer::Failed(error) = answer {
            return self.fail_call(queued, &error);
        }
        self.answered += 1;
        if self.error_streaks.record_served(call) {
            inbox.record_error_streak(None);
            log_node!(inbox.log, INFO, "node votes again");
        }
        if self.has_lost && call.is_release() {
            let is_released = matches!(call.vote(answer.clone()), Vote::Granted { .. });
            if inbox.owe_if_lost(&queued, is_released) {
                self.retry_owed();
            }
        }
        queued.answer(answer);
    }

    /// Answers a call that the server failed to serve. A release becomes an owed release.
    fn fail_call(&mut self, queued: QueuedCall, error: &NodeError) {
        let inbox = Arc::clone(&self.pipe.inbox);
        if queued.call().is_release() {
            log_node!(
                inbox.log,
                WARN,
                "node refuses releases; they are sent again until their ttl",
                reason = %error
            );
            self.retry_owed();
        }
        let errors = self
            .error_streaks
            .record_error(queued.call(), error, self.pipe.heard);
        if errors >= MANY_ERRORS {
            inbox.record_error_streak(Some(error));
        }
        if errors == MANY_ERRORS && !queued.call().is_release() {
            log_node!(
                inbox.log,
                WARN,
                "node answers with errors; it does not vote until it serves an operation",
                reason = %error
            );
        }
        self.answer_failed(queued, error);
    }

    fn answer_failed(&mut self, queued: QueuedCall, error: &NodeError) {
        self.answered += 1;
        self.pipe.inbox.fail_unserved(queued, error);
    }

    /// Schedules the owed releases to be sent again after a pause. All of them are sent at one moment.
    fn retry_owed(&mut self) {
        let at = *self.retry_at.get_or_insert(self.pipe.heard + OWED_PAUSE);
        self.pipe.ring_by(at);
    }

    /// Vets the server again by the answer to a heartbeat. Refuses it with an error, or logs faults that are new.
    fn vet_again(&mut self, value: &Value) -> Result<(), NodeError> {
        let (pool, options) = (&self.pipe.inbox.log.pool, &self.pipe.inbox.options);
        let mut facts = ServerFacts::default();
        let answers = match value {
            // With `trust_aof` the heartbeat asks several questions, so the answer is a list of answers.
            Value::List(answers) if options.trust_aof => &answers[..],
            answer => std::slice::from_ref(answer),
        };
        for answer in answers {
            facts.add(answer);
        }
        let reasons = self.role.judge(pool, options, &facts, None)?;
        if let Some(reason) = &reasons
            && reasons != self.warned
        {
            log_node!(self.pipe.inbox.log, WARN, "a lock cannot rely on this server", %reason);
        }
        self.warned = reasons;
        Ok(())
    }

    /// Records an answer and its latency. The latency ends when the answer was read, to save a look at the clock.
    fn record_answer_time(&self) {
        let after = self.pipe.heard.saturating_duration_since(self.pipe.since);
        let inbox = &self.pipe.inbox;
        inbox.has_served.store(true, Ordering::Relaxed);
        inbox.metrics.record_answer(after);
        if let Some(observer) = &inbox.options.answers {
            caught("an observer of answers", || observer.record_answer(after));
        }
    }

    /// Sends everything that is due, and sets the alarm for the next due moment.
    fn run_due(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        while self.pipe.alarm.as_mut().poll(context).is_ready() {
            let pipe = &mut self.pipe;
            let now = pipe.now();
            if self.check.at.is_some_and(|at| at <= now) {
                self.check.send_check(None, pipe);
            }
            if self.retry_at.take_if(|at| *at <= now).is_some() {
                pipe.inbox.send_owed(now);
            }
            if self.heartbeat_at <= now {
                self.heartbeat_at = now + pipe.inbox.options.heartbeat;
                pipe.send_heartbeat(self.heartbeat.clone());
            }
            self.watches.ask_due(&mut self.pipe);
            let dues = [
                self.check.at,
                self.retry_at,
                self.watches.next_due(),
                self.check_patience(now)?,
            ];
            let next = dues
                .into_iter()
                .flatten()
                .fold(self.heartbeat_at, Instant::min);
            self.pipe.alarm.as_mut().reset(next.max(now + A_MOMENT));
        }
        Ok(())
    }

    /// Makes the node suspect if an answer is overdue, and fails if the server counts as dead. Returns the moment to
    /// look again, or `None` if every answer has come.
    fn check_patience(&mut self, now: Instant) -> Result<Option<Instant>, NodeError> {
        let (inbox, options) = (&self.pipe.inbox, &self.pipe.inbox.options);
        let Some(waited) = self.pipe.waited(now) else {
            return Ok(None);
        };
        let left = options.suspect_after.saturating_sub(waited);
        if !left.is_zero() {
            return Ok(Some(now + left));
        }
        if self.is_suspect && waited >= options.dead_after {
            return Err(lost(format!("no answer for {}", Brief(waited))));
        }
        if !std::mem::replace(&mut self.is_suspect, true) {
            log_node!(
                inbox.log,
                WARN,
                "node does not answer; it does not vote until it does",
                overdue = %Brief(waited)
            );
        }
        inbox.suspect(waited);
        let left = options.dead_after.saturating_sub(waited).max(TO_READ);
        Ok(Some(now + options.suspect_after.min(left)))
    }

    /// Lets a suspect node vote again once its overdue answers have come. The server may have stood still, and its
    /// clock may have stepped. So the restart check's question is sent before all operations that are accepted from now
    /// on, and its verdict covers them. Callers get their answers after this, so a caller that asks again is accepted.
    fn end_suspicion(&mut self) {
        let pipe = &mut self.pipe;
        let is_overdue = |waited| waited >= pipe.inbox.options.suspect_after;
        if !self.is_suspect || pipe.waited(pipe.heard).is_some_and(is_overdue) {
            return;
        }
        self.is_suspect = false;
        log_node!(pipe.inbox.log, INFO, "node answers again");
        self.check.send_check(None, pipe);
        pipe.inbox.trust();
    }

    /// Answers all calls of a closed connection as lost. Its releases become owed releases, and its huge keys and
    /// watches go to the next connection.
    fn abandon_calls(&mut self, error: &NodeError) {
        let mut calls = self.pipe.end();
        calls.append(&mut self.batch.calls);
        let inbox = &self.pipe.inbox;
        inbox.lose(calls, error);
        inbox.keep_huge_keys(std::mem::take(&mut self.pipe.extras.huge));
        // The next connection asks the server about the keys of these watches.
        for watch in self.watches.take_all() {
            inbox.queue_watch(watch);
        }
    }
}

impl Drop for Actor<'_> {
    /// Answers calls that are still in flight. There are some if the actor's runtime has ended or the actor has
    /// panicked. The inbox stays open for the next actor.
    fn drop(&mut self) {
        self.abandon_calls(&lost("the runtime of the node's connection has ended"));
    }
}

/// True if `reply` is a valid reply to `call` in a call for several. An invalid reply is never a grant. A fenced
/// acquisition, which checks the marker, is granted by the numbers of its counter, and never by 1.
fn is_valid_reply(reply: &Value, call: &Call) -> bool {
    match reply {
        Value::Int(number) => call.is_release() || (*number > 1) == call.has_marker && *number > 0,
        Value::List(_) => call.has_marker,
        Value::Text(_) | Value::Error(_) => !call.is_release(),
        Value::Nil => false,
    }
}
