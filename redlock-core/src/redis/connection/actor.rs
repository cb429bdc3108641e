//! One connection, from its first call to its end.

use std::future::{Future, poll_fn};
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

/// The most operations that a lone caller has under way on one node. It has just submitted two, and the slowest node may
/// not have answered the two before, because the caller went on at a majority.
const QUIET: usize = 4;

/// The pause before owed releases are sent again on the same connection.
const OWED_PAUSE: Duration = Duration::from_secs(1);

/// A server counts as dead only if it was suspect for this long: after a standstill of this process, the crate's task
/// reads meanwhile what the server has answered.
const TO_READ: Duration = Duration::from_millis(20);

/// The shortest time that timers of tokio tell apart.
const A_MOMENT: Duration = Duration::from_millis(1);

/// Serves a connection: the driver's part while it has one. It is no task of its own.
pub(in crate::redis) struct Actor<'a> {
    pipe: CommandPipeline,
    check: &'a mut ServerCheck,
    watches: Watches,
    role: ServerRole,
    /// The reasons that were logged why a lock cannot rely on the server.
    warned: Option<String>,
    /// The questions of a heartbeat: about the server, or anything if it does not answer `INFO`.
    heartbeat: Pipeline,
    heartbeat_at: Instant,
    /// The moment at which owed releases are sent again; `None` if this connection owes nothing.
    retry_at: Option<Instant>,
    /// The last batch from the inbox. Its memory is used again.
    batch: Batch,
    /// The number of operations answered since the inbox was last told.
    answered: usize,
    /// True if more submissions are likely: the next write waits once for them.
    is_busy: bool,
    error_streaks: ErrorStreaks,
    is_suspect: bool,
    /// True if an acquisition was lost with an earlier connection.
    has_lost: bool,
}

/// Completes once the server is no longer the node's, with the reason.
pub(in crate::redis) type Replaced = Pin<Box<dyn Future<Output = NodeError> + Send>>;

impl<'a> Actor<'a> {
    /// Opens the inbox. The restart check's question goes first, then the owed releases, then everything else.
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
        // A slot may go away, and one call for keys of several slots would be refused.
        let joins = greeting.joins && role != ServerRole::ClusterMaster;
        let mut pipe = CommandPipeline::new(connected.opened, extras, inbox, joins);
        check.send_check(None, &mut pipe);
        let (pool, options) = (&inbox.log.pool, &inbox.options);
        let heartbeat_at = now + options.heartbeat;
        pipe.ring_by(heartbeat_at);
        let mut heartbeat = Pipeline::new();
        if greeting.facts.run_id().is_some() {
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

    /// Serves the connection until it breaks, another server is the node's, or the node was dropped and everything is
    /// answered.
    pub(in crate::redis) async fn serve(mut self, mut replaced: Replaced) -> Result<(), NodeError> {
        let ended = poll_fn(|context| match self.step(context) {
            Poll::Pending => replaced.as_mut().poll(context).map(Err),
            ended @ Poll::Ready(_) => ended,
        });
        let ended = ended.await;
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
        if self.waits_for_callers() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.send_submitted();
        if self.batch.has_ended && self.pipe.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.watches.take_messages(context, &mut self.pipe)?;
        self.run_due(context)?;
        Poll::Pending
    }

    /// Sends what callers submitted.
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
        self.watches.add(&mut batch.watches, pipe);
        self.is_busy = batch.outstanding > QUIET;
        for queued in batch.calls.drain(..) {
            pipe.submit(queued);
        }
        pipe.send();
    }

    /// True if the actor yields once before it takes operations from the inbox: more are likely, and go in the same
    /// write.
    fn waits_for_callers(&mut self) -> bool {
        let others_go_first = self.is_busy && self.pipe.inbox.has_queued();
        self.is_busy &= !others_go_first;
        others_go_first
    }

    /// Handles an answer of the server.
    fn handle_answer(&mut self, purpose: Purpose, value: Value) -> Result<(), NodeError> {
        let pipe = &mut self.pipe;
        match purpose {
            Purpose::Scripts => return Ok(()),
            Purpose::Watch(names) => {
                self.watches.record_answer(&names, &value, pipe);
                return Ok(());
            }
            // A refusal ends the connection, and does not count as an answer.
            Purpose::Check(asked) => self.check.apply_answer(asked, &value, pipe)?,
            Purpose::Heartbeat => self.vet_again(&value)?,
            Purpose::Several(calls) => self.deliver_several(calls, value),
            // The server was restarted, or its scripts were flushed. A release whose script was not run is sent
            // with its text, and so runs for the first time.
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

    /// Delivers the server's replies to calls that were made by one.
    fn deliver_several(&mut self, mut calls: Vec<QueuedCall>, value: Value) {
        let (replies, error) = match self.pipe.replies(calls.len(), value) {
            Ok(replies) => (replies, garbled()),
            Err(error) => (Vec::new(), error),
        };
        let mut replies = replies.into_iter();
        for queued in calls.drain(..) {
            match replies.next() {
                Some(reply) if is_valid_reply(&reply, queued.call()) => self.deliver(queued, reply),
                _ if queued.call().is_release() => self.pipe.add_call(queued, true),
                _ => self.answer_failed(queued, &error),
            }
        }
        self.pipe.spare_calls = calls;
        self.pipe.send();
    }

    /// Delivers the server's reply to a caller.
    fn deliver(&mut self, queued: QueuedCall, value: Value) {
        // The call set nothing because the node's marker is gone, or shows a quarantine.
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
            if inbox.is_still_owed(&queued, is_released) {
                self.retry_owed();
            }
        }
        queued.answer(answer);
    }

    /// Tells a caller that the server did not serve the call. A release is owed.
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

    /// Sends the owed releases again after a pause. All of them share one moment.
    fn retry_owed(&mut self) {
        let at = *self.retry_at.get_or_insert(self.pipe.heard + OWED_PAUSE);
        self.pipe.ring_by(at);
    }

    /// Refuses a server on which a lock cannot rely any more, or logs the reasons.
    fn vet_again(&mut self, value: &Value) -> Result<(), NodeError> {
        let (pool, options) = (&self.pipe.inbox.log.pool, &self.pipe.inbox.options);
        let mut facts = ServerFacts::default();
        let answers = match value {
            // Several answers, each with names and values, or lines.
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

    /// Counts an answer. Its latency ends when it was read, so no clock is read for each answer.
    fn record_answer_time(&self) {
        let after = self.pipe.heard.saturating_duration_since(self.pipe.since);
        let inbox = &self.pipe.inbox;
        inbox.has_served.store(true, Ordering::Relaxed);
        inbox.metrics.record_answer(after);
        if let Some(observer) = &inbox.options.answers {
            caught("an observer of answers", || observer.record_answer(after));
        }
    }

    /// Sends all that is due, and sets the alarm for the next moment.
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
                pipe.send_commands(self.heartbeat.clone(), Purpose::Heartbeat);
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

    /// Returns the moment until which overdue answers are awaited. `None` if every answer has come.
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

    /// If the overdue answers have come, the node may vote again. A server that did not answer may have
    /// stood still, and its clock may have stepped. The restart check's question is therefore sent
    /// before all operations that are accepted from now on, so its verdict covers them. Callers get
    /// their answers after this, so a caller that asks again is accepted.
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

    /// Answers the calls of a connection that is gone as lost. Its releases are owed.
    fn abandon_calls(&mut self, error: &NodeError) {
        let mut calls = self.pipe.end();
        calls.append(&mut self.batch.calls);
        let inbox = &self.pipe.inbox;
        inbox.lose(calls, error);
        inbox.keep_huge_keys(std::mem::take(&mut self.pipe.extras.huge));
        // The next connection asks for their keys.
        for watch in self.watches.take_all() {
            inbox.queue_watch(watch);
        }
    }
}

impl Drop for Actor<'_> {
    /// If something is under way, the actor's runtime has ended, or it has panicked. The inbox stays open for another
    /// actor.
    fn drop(&mut self) {
        self.abandon_calls(&lost("the runtime of the node's connection has ended"));
    }
}

/// True if `reply` is a valid answer to `call` in a call for several. Another reply is never a grant.
fn is_valid_reply(reply: &Value, call: &Call) -> bool {
    match reply {
        Value::Int(number) => call.is_release() || *number == 1,
        Value::Text(_) | Value::Error(_) => !call.is_release(),
        _ => false,
    }
}
