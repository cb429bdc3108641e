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
use crate::redis::backoff::LONGEST_PAUSE;
use crate::redis::errors::{garbled, lost};
use crate::redis::inbox::{Entry, Inbox, Taken};
use crate::redis::vetting::{Facts, Rules};

use super::check::ServerCheck;
use super::command::{Dialect, is_error};
use super::connect::Connected;
use super::line::{Line, Purpose};
use super::questions::ask_for_facts;
use super::refusals::{MANY, Refusals};
use super::wakeups::Wakeups;

/// The most operations that a lone caller has under way: it may submit two at once, and if it continues at a majority,
/// two more stay unanswered on the slowest node.
const QUIET: usize = 4;

/// A server counts as dead only if it was suspect for this long: after a standstill of this process, the crate's task
/// reads meanwhile what the server has answered.
const TO_READ: Duration = Duration::from_millis(20);

/// The shortest time that timers of tokio tell apart.
const A_MOMENT: Duration = Duration::from_millis(1);

/// What serves a connection.
pub(in crate::redis) struct Actor<'a> {
    line: Line,
    check: &'a mut ServerCheck,
    wakeups: Wakeups,
    rules: &'a Rules,
    /// The reasons that were logged why a lock cannot rely on the server.
    warned: Option<String>,
    /// The questions of a heartbeat: about the server, or anything if it does not answer `INFO`.
    heartbeat: Pipeline,
    heartbeat_at: Instant,
    /// The moment at which owed releases are sent again; `None` if this connection owes nothing.
    retry_at: Option<Instant>,
    /// What came last from the inbox, reused.
    taken: Taken,
    /// The number of operations answered since the inbox was last told.
    answered: usize,
    /// True if several callers are there, and were not let go first since the last write.
    is_busy: bool,
    refusals: Refusals,
    is_suspect: bool,
    /// True if an acquisition was lost with an earlier connection.
    has_lost: bool,
}

/// Completes once the server is no longer the node's, with the reason.
pub(in crate::redis) type Moved = Pin<Box<dyn Future<Output = NodeError> + Send>>;

/// True if `reply` is a valid answer to `call` in a call for several. Another reply is never a grant.
fn is_part(reply: &Value, call: &Call) -> bool {
    match reply {
        Value::Int(number) => call.is_release() || *number == 1,
        Value::Text(_) | Value::Error(_) => !call.is_release(),
        _ => false,
    }
}

impl<'a> Actor<'a> {
    /// Opens the inbox. The restart check's question goes first, then the owed releases, then everything else.
    pub(in crate::redis) fn new(
        connected: Connected,
        inbox: &Arc<Inbox>,
        check: &'a mut ServerCheck,
        rules: &'a Rules,
    ) -> Self {
        let greeting = connected.greeting;
        let dialect = Dialect {
            marker: check.marker_key(),
            is_tried: greeting.mend.is_none(),
            huge: inbox.take_huge_keys(),
        };
        let now = inbox.time.now();
        let quarantine = check.connected(greeting.facts.run_id());
        inbox.open(quarantine, greeting.mend);
        // A slot may go away, and one call for keys of several slots would be refused.
        let joins = greeting.joins && !rules.is_part;
        let mut line = Line::new(connected.opened, dialect, inbox, joins);
        check.ask(None, &mut line);
        let heartbeat_at = now + inbox.options.heartbeat;
        line.watch_by(heartbeat_at);
        let mut heartbeat = Pipeline::new();
        if greeting.facts.run_id().is_some() {
            ask_for_facts(&mut heartbeat, rules.trusts_aof);
        } else {
            heartbeat.cmd("TIME");
        }
        Self {
            line,
            check,
            wakeups: connected.wakeups,
            rules,
            warned: rules.judge(&greeting.facts, None).ok().flatten(),
            heartbeat,
            heartbeat_at,
            retry_at: None,
            taken: Taken::default(),
            answered: 0,
            is_busy: false,
            refusals: Refusals::default(),
            is_suspect: false,
            has_lost: inbox.has_lost(),
        }
    }

    /// Serves the connection until it breaks, another server is the node's, or the node was dropped and everything is
    /// answered.
    pub(in crate::redis) async fn serve(mut self, mut moved: Moved) -> Result<(), NodeError> {
        let ended = poll_fn(|context| match self.step(context) {
            Poll::Pending => moved.as_mut().poll(context).map(Err),
            ended @ Poll::Ready(_) => ended,
        });
        let ended = ended.await;
        if let Err(error) = &ended {
            self.line.inbox.close(error);
            self.give_up(error);
        }
        ended
    }

    fn step(&mut self, context: &mut Context<'_>) -> Poll<Result<(), NodeError>> {
        self.line.waker.clone_from(context.waker());
        while let Some((purpose, value)) = self.line.next()? {
            self.trust_again();
            self.read(purpose, value)?;
        }
        if self.lets_callers_go_first() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.take();
        if self.taken.has_ended && self.line.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.wakeups.follow(context, &mut self.line)?;
        self.watch(context)?;
        Poll::Pending
    }

    /// Sends what callers submitted.
    fn take(&mut self) {
        let answered = std::mem::take(&mut self.answered);
        let (line, taken) = (&mut self.line, &mut self.taken);
        line.inbox.take(taken, answered, &line.waker);
        if taken.is_empty() {
            return;
        }
        if taken.is_doubted {
            self.check.ask(None, line);
        }
        self.wakeups.add(&mut taken.watches, line);
        self.is_busy = taken.outstanding > QUIET;
        for entry in taken.calls.drain(..) {
            line.submit(entry);
        }
        line.send();
    }

    /// True if more operations may come before those in the inbox are taken: what several callers submit goes in one
    /// write.
    fn lets_callers_go_first(&mut self) -> bool {
        let goes_first = self.is_busy && self.line.inbox.has_queued();
        self.is_busy &= !goes_first;
        goes_first
    }

    /// Handles an answer of the server.
    fn read(&mut self, purpose: Purpose, value: Value) -> Result<(), NodeError> {
        let line = &mut self.line;
        match purpose {
            Purpose::Scripts => return Ok(()),
            Purpose::Keys(watch) => {
                self.wakeups.answered(&watch, &value, line);
                return Ok(());
            }
            // A refusal ends the connection, and does not count as an answer.
            Purpose::Check(asked) => self.check.answered(asked, &value, line)?,
            Purpose::Heartbeat => self.judge(&value)?,
            Purpose::Several(mut calls) => {
                let (replies, refusal) = match line.replies(calls.len(), value) {
                    Ok(replies) => (replies, garbled()),
                    Err(refusal) => (Vec::new(), refusal),
                };
                let mut replies = replies.into_iter();
                for entry in calls.drain(..) {
                    match replies.next() {
                        Some(reply) if is_part(&reply, entry.call()) => {
                            self.tell(entry, reply);
                        }
                        _ if entry.call().is_release() => self.line.add_call(entry, true),
                        _ => self.refuse(entry, &refusal),
                    }
                }
                self.line.spare_calls = calls;
                self.line.send();
            }
            // The server was restarted, or its scripts were flushed. A release whose script was not run is sent with its text, and so runs for the first time.
            Purpose::Call(entry) if is_error(&value, "NOSCRIPT") => {
                line.load_scripts();
                if entry.call().is_release() {
                    line.add_call(entry, true);
                    line.send();
                    return Ok(());
                }
                let forgotten = b"NOSCRIPT the server had forgotten the scripts";
                self.fail(entry, &NodeError::server(forgotten).into_unsent());
            }
            Purpose::Call(entry) => self.tell(entry, value),
        }
        self.count();
        Ok(())
    }

    /// Delivers the server's reply to a caller.
    fn tell(&mut self, entry: Entry, value: Value) {
        // The call set nothing because the node's marker is gone, or shows a quarantine.
        if is_error(&value, "NOMARKER") {
            self.check.doubt(&mut self.line);
        }
        self.line.dialect.huge.note(entry.call(), &value);
        let (call, inbox) = (entry.call(), &self.line.inbox);
        let answer = Answer::of_reply(call, value, inbox.epoch());
        let answer = self.check.as_far_as_it_counts(call, answer);
        if let Answer::Failed(error) = answer {
            return self.fail(entry, &error);
        }
        self.answered += 1;
        if self.refusals.end(call) {
            inbox.refuses(None);
            log_node!(inbox.log, INFO, "node votes again");
        }
        if self.has_lost && call.is_release() {
            let is_released = matches!(call.vote(answer.clone()), Vote::Granted { .. });
            if inbox.is_still_owed(&entry, is_released) {
                self.retry();
            }
        }
        entry.answer(answer);
    }

    /// Tells a caller that the server did not serve the call. A release is owed.
    fn fail(&mut self, entry: Entry, error: &NodeError) {
        let inbox = Arc::clone(&self.line.inbox);
        if entry.call().is_release() {
            log_node!(
                inbox.log,
                WARN,
                "node refuses releases; they are sent again until their ttl",
                reason = %error
            );
            self.retry();
        }
        let errors = self.refusals.add(entry.call(), error, self.line.heard);
        if errors >= MANY {
            inbox.refuses(Some(error));
        }
        if errors == MANY && !entry.call().is_release() {
            log_node!(
                inbox.log,
                WARN,
                "node answers with errors; it does not vote until it serves an operation",
                reason = %error
            );
        }
        self.refuse(entry, error);
    }

    fn refuse(&mut self, entry: Entry, error: &NodeError) {
        self.answered += 1;
        self.line.inbox.refused(entry, error);
    }

    /// Has the owed releases sent again. All of them share one moment.
    fn retry(&mut self) {
        let at = *self.retry_at.get_or_insert(self.line.heard + LONGEST_PAUSE);
        self.line.watch_by(at);
    }

    /// Refuses a server on which a lock cannot rely any more, or logs the reasons.
    fn judge(&mut self, value: &Value) -> Result<(), NodeError> {
        let mut facts = Facts::default();
        let answers = match value {
            // Several answers, each with names and values, or lines.
            Value::List(answers) if self.rules.trusts_aof => &answers[..],
            answer => std::slice::from_ref(answer),
        };
        for answer in answers {
            facts.add(answer);
        }
        let reasons = self.rules.judge(&facts, None)?;
        if let Some(reason) = &reasons
            && reasons != self.warned
        {
            log_node!(self.line.inbox.log, WARN, "a lock cannot rely on this server", %reason);
        }
        self.warned = reasons;
        Ok(())
    }

    /// Counts an answer. Its latency ends when it was read, so no clock is read for each answer.
    fn count(&self) {
        let after = self.line.heard.saturating_duration_since(self.line.since);
        let inbox = &self.line.inbox;
        inbox.has_served.store(true, Ordering::Relaxed);
        inbox.metrics.answered(after);
        if let Some(observer) = &inbox.options.answers {
            caught("an observer of answers", || observer.answered(after));
        }
    }

    /// Does what is due, and waits for what is due next.
    fn watch(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        while self.line.alarm.as_mut().poll(context).is_ready() {
            let line = &mut self.line;
            let now = line.now();
            if self.check.at.is_some_and(|at| at <= now) {
                self.check.ask(None, line);
            }
            if self.retry_at.take_if(|at| *at <= now).is_some() {
                line.inbox.send_owed(now);
            }
            if self.heartbeat_at <= now {
                self.heartbeat_at = now + line.inbox.options.heartbeat;
                line.ask_all(self.heartbeat.clone(), Purpose::Heartbeat);
            }
            self.wakeups.ask_due(&mut self.line);
            let dues = [
                self.check.at,
                self.retry_at,
                self.wakeups.next_due(),
                self.patience(now)?,
            ];
            let next = dues
                .into_iter()
                .flatten()
                .fold(self.heartbeat_at, Instant::min);
            self.line.alarm.as_mut().reset(next.max(now + A_MOMENT));
        }
        Ok(())
    }

    /// How long to wait for overdue answers. `None` if there are none to wait for.
    fn patience(&mut self, now: Instant) -> Result<Option<Instant>, NodeError> {
        let (inbox, options) = (&self.line.inbox, &self.line.inbox.options);
        let Some(waited) = self.line.waited(now) else {
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
    fn trust_again(&mut self) {
        let line = &mut self.line;
        let is_overdue = |waited| waited >= line.inbox.options.suspect_after;
        if !self.is_suspect || line.waited(line.heard).is_some_and(is_overdue) {
            return;
        }
        self.is_suspect = false;
        log_node!(line.inbox.log, INFO, "node answers again");
        self.check.ask(None, line);
        line.inbox.trust();
    }

    /// The connection is gone: its calls are answered as lost, and its releases are owed.
    fn give_up(&mut self, error: &NodeError) {
        let mut calls = self.line.end();
        calls.append(&mut self.taken.calls);
        let inbox = &self.line.inbox;
        inbox.lose(calls, error);
        inbox.keep_huge_keys(std::mem::take(&mut self.line.dialect.huge));
        // The next connection asks for their keys.
        for it in std::mem::take(&mut self.wakeups.waiting) {
            inbox.queue_watch(it.watch);
        }
    }
}

impl Drop for Actor<'_> {
    /// If something is under way, the actor's runtime has ended, or it has panicked. The inbox stays open for another
    /// actor.
    fn drop(&mut self) {
        self.give_up(&lost("the runtime of the node's connection has ended"));
    }
}
