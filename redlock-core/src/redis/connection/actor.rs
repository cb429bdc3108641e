//! One connection, from its first call to its end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::redis::Cmd;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::env::caught::caught;
use crate::model::brief::Brief;
use crate::node::log::log_node;
use crate::node::{Answer, Effect, Node as _, NodeError, Value, Vote};
use crate::redis::backoff::LONGEST_PAUSE;
use crate::redis::errors::{lost, overdue};
use crate::redis::inbox::{Inbox, Owed, Submission, Taken};
use crate::redis::options::{RedisOptions, Vetting};
use crate::redis::restart_check::ServerCheck;
use crate::redis::vetting::{Facts, refused};

use super::check::Check;
use super::command::{Dialect, is_marker_gone, is_noscript};
use super::connect::Connected;
use super::line::{Line, Purpose};
use super::several::Batch;
use super::wakeups::Wakeups;

/// The most operations that a lone caller has under way. If it continues at a majority, an operation or two
/// stay unanswered on the slowest node.
const QUIET: usize = 2;

/// The most times in a row that several callers go first: what they submit meanwhile goes in one call.
const MOST_TIMES: u32 = 3;

/// A server counts as dead only if it was suspect for this long: after a standstill of this process, the crate's task
/// reads meanwhile what the server has answered.
const TO_READ: Duration = Duration::from_millis(20);

/// What serves a connection.
pub(in crate::redis) struct Actor {
    line: Line,
    batch: Batch,
    check: Check,
    wakeups: Wakeups,
    /// What the server is asked once a heartbeat: about its memory, or anything if it does not answer `INFO`.
    heartbeat: Cmd,
    heartbeat_at: Instant,
    /// The moment at which owed releases are sent again; `None` if this connection owes nothing.
    retry_at: Option<Instant>,
    /// What came last from the inbox, reused.
    taken: Taken,
    /// The number of operations answered since the inbox was last told.
    answered: usize,
    gathering: Gathering,
    is_suspect: bool,
    /// True if acquisitions of earlier connections have no answer.
    has_lost: bool,
}

/// Whether to let several callers go first.
#[derive(Default)]
struct Gathering {
    /// True if several callers are there.
    is_busy: bool,
    /// How often in a row they went first.
    times: u32,
    /// The number of operations that were queued at the last look.
    queued: usize,
}

/// Completes once the server is no longer the node's, with the reason.
pub(in crate::redis) type Moved<'a> = Pin<Box<dyn Future<Output = NodeError> + Send + 'a>>;

impl Actor {
    /// Opens the inbox. The restart check's question goes first, then the owed releases, then everything else.
    pub(in crate::redis) fn new(
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
        inbox.metrics.lacks(connected.allowed.mend);
        let mut check = Check::new(server_check);
        inbox.open(check.quarantine());
        let mut line = Line::new(
            connected.connection,
            dialect,
            inbox,
            options,
            leaves_a_replica,
        );
        check.ask(None, &mut line);
        let heartbeat_at = line.heard + options.heartbeat;
        line.watch_by(heartbeat_at);
        Self {
            batch: Batch::new(connected.allowed.joins.then_some(line.heard)),
            line,
            check,
            wakeups: connected.wakeups,
            heartbeat: if connected.facts.run_id().is_some() {
                ::redis::cmd("INFO").arg("memory").take()
            } else {
                ::redis::cmd("TIME")
            },
            heartbeat_at,
            retry_at: None,
            taken: Taken::default(),
            answered: 0,
            gathering: Gathering::default(),
            is_suspect: false,
            has_lost: inbox.has_lost(),
        }
    }

    /// Serves the connection until it breaks, another server is the node's, or the node was dropped and everything is
    /// answered.
    pub(in crate::redis) async fn serve(mut self, mut moved: Moved<'_>) -> Result<(), NodeError> {
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
        loop {
            while let Some((purpose, value)) = self.line.next(context)? {
                self.trust_again();
                self.read(purpose, value)?;
            }
            let launched = self.line.launched;
            self.wakeups.follow(context, &mut self.line)?;
            if self.gathering.goes_on(&self.line.inbox) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !self.take(context) {
                if self.taken.has_ended && self.line.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                self.watch(context)?;
                if self.line.launched == launched {
                    return Poll::Pending;
                }
            }
        }
    }

    /// Sends what callers submitted. False if nothing came.
    fn take(&mut self, context: &Context<'_>) -> bool {
        let answered = std::mem::take(&mut self.answered);
        let (line, taken) = (&mut self.line, &mut self.taken);
        line.inbox.take(taken, answered, context);
        if taken.is_empty() {
            return false;
        }
        if taken.is_doubted {
            self.check.ask(None, line);
        }
        self.wakeups.add(&mut taken.watches, line);
        self.gathering.is_busy = line.calls.max(taken.calls.len()) > QUIET;
        let since = line.now();
        for submission in taken.calls.drain(..) {
            self.batch.add(submission, since, line);
        }
        self.batch.flush(since, line);
        line.send(since);
        true
    }

    /// Handles an answer of the server.
    fn read(&mut self, purpose: Purpose, value: Value) -> Result<(), NodeError> {
        let line = &mut self.line;
        match purpose {
            Purpose::Scripts => return Ok(()),
            Purpose::Tracking => {
                self.wakeups.tracks(&value, line);
                return Ok(());
            }
            Purpose::Keys(watch) => {
                self.wakeups.answered(&watch, &value);
                return Ok(());
            }
            // A refusal ends the connection, and does not count as an answer.
            Purpose::Check(asked) => self.check.answered(asked, &value, line)?,
            Purpose::Heartbeat => self.judge_memory(&value)?,
            Purpose::Several(releases) => {
                for (submission, reply) in self.batch.replies(releases, value, line) {
                    match reply {
                        Some(value) => self.tell(submission, value),
                        None => self.line.send_with_text(submission),
                    }
                }
            }
            // A release whose script was not run is sent with its text, and so runs for the first time.
            Purpose::Call(submission) if is_noscript(&value) => {
                line.load_scripts();
                if submission.call.is_release() {
                    line.send_with_text(submission);
                    return Ok(());
                }
                let forgotten = b"NOSCRIPT the server had forgotten the scripts";
                self.fail(submission, NodeError::server(forgotten).into_unsent());
            }
            Purpose::Call(submission) => self.tell(submission, value),
        }
        self.count();
        Ok(())
    }

    /// Delivers the server's reply to a caller.
    fn tell(&mut self, submission: Submission, value: Value) {
        if is_marker_gone(&value) {
            self.check.doubt(&mut self.line);
        }
        let call = &submission.call;
        let answer = Answer::of_reply(call, value, self.line.inbox.epoch());
        let answer = self.check.as_far_as_it_counts(call, answer);
        if let Answer::Failed(error) = answer {
            return self.fail(submission, error);
        }
        if call.effect == Effect::Takes && self.line.inbox.refusals.voted() {
            log_node!(self.line.inbox.log, INFO, "node votes again");
        }
        self.answered += 1;
        // A release that found nothing although its acquisition was never answered: the acquisition may lie in an old
        // socket of a server that stands still, and come later.
        if self.has_lost && call.is_release() {
            let is_released = matches!(call.vote(answer.clone()), Vote::Granted { .. });
            if !self.line.inbox.is_undone(call, is_released)
                && let Some(mut owed) = submission.owed(&self.line.inbox.time)
            {
                owed.is_answered = true;
                self.owe(owed);
            }
        }
        submission.reply.answer(answer);
    }

    /// Tells a caller that the server did not serve the call. A release is owed.
    fn fail(&mut self, submission: Submission, error: NodeError) {
        self.answered += 1;
        if let Some(owed) = submission.owed(&self.line.inbox.time) {
            log_node!(
                self.line.inbox.log,
                WARN,
                "node refuses releases; they are sent again until their ttl",
                reason = %error
            );
            self.owe(owed);
        }
        let (inbox, heard) = (&self.line.inbox, self.line.heard);
        inbox.metrics.failed(error.kind(), 1);
        inbox.metrics.record_error(&error);
        let is_a_vote = matches!(submission.call.effect, Effect::Takes | Effect::Keeps);
        if is_a_vote && error.concerns_the_node() && inbox.refusals.refused(&error, heard) {
            log_node!(
                inbox.log,
                WARN,
                "node answers with errors; it does not vote until it serves an operation",
                reason = %error
            );
        }
        submission.reply.answer(Answer::Failed(error));
    }

    /// Keeps a release that is to be sent again. All of them share one moment.
    fn owe(&mut self, owed: Owed) {
        self.line.inbox.owe(owed);
        let at = *self.retry_at.get_or_insert(self.line.heard + LONGEST_PAUSE);
        self.line.watch_by(at);
    }

    /// Refuses a server that has begun to evict keys.
    fn judge_memory(&self, value: &Value) -> Result<(), NodeError> {
        let (pool, vetting) = (&self.line.inbox.log.pool, self.line.options.vetting);
        let fault = match value {
            Value::Text(info) if vetting == Vetting::Refuse => Facts::of_info(info).eviction(),
            _ => None,
        };
        fault.map_or(Ok(()), |fault| Err(refused(format!("`{pool}` {fault}"))))
    }

    /// Counts an answer. Its latency ends when it was read, so no clock is read for each answer.
    fn count(&self) {
        let after = self.line.heard.saturating_duration_since(self.line.since);
        self.line.inbox.metrics.answered(after);
        if let Some(observer) = &self.line.options.answers {
            caught("an observer of answers", || observer.answered(after));
        }
    }

    /// Does what is due, and waits for what is due next.
    fn watch(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let line = &mut self.line;
        while let Some(now) = line.fired(context) {
            if self.check.at.is_some_and(|at| at <= now) {
                self.check.ask(None, line);
            }
            if self.retry_at.is_some_and(|at| at <= now) {
                self.retry_at = None;
                line.inbox.send_owed(now);
            }
            if self.heartbeat_at <= now {
                self.heartbeat_at = now + line.options.heartbeat;
                line.ask(self.heartbeat.clone(), Purpose::Heartbeat);
            }
            let (suspect_after, dead_after) = (line.options.suspect_after, line.options.dead_after);
            let patience = match line.waited(now) {
                None => None,
                Some(waited) if waited < suspect_after => suspect_after.checked_sub(waited),
                Some(waited) if waited >= dead_after && self.is_suspect => {
                    return Err(overdue(waited));
                }
                Some(waited) => {
                    if !std::mem::replace(&mut self.is_suspect, true) {
                        log_node!(
                            line.inbox.log,
                            WARN,
                            "node does not answer; it does not vote until it does",
                            overdue = %Brief(waited)
                        );
                    }
                    line.inbox.suspect(waited);
                    let left = dead_after.saturating_sub(waited).max(TO_READ);
                    Some(suspect_after.min(left))
                }
            };
            let patience = patience.map(|patience| now + patience);
            let others = [self.check.at, self.retry_at, patience].into_iter();
            line.set_alarm(now, others.flatten().fold(self.heartbeat_at, Instant::min));
        }
        Ok(())
    }

    /// If the overdue answers have come, the node may vote again. A server that did not answer may have
    /// stood still, and its clock may have stepped. The restart check's question is therefore sent
    /// before all operations that are accepted from now on, so its verdict covers them. Callers get
    /// their answers after this, so a caller that asks again is accepted.
    fn trust_again(&mut self) {
        let line = &mut self.line;
        let is_overdue = |waited| waited >= line.options.suspect_after;
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
        let mut calls = self.batch.take();
        for purpose in self.line.end() {
            match purpose {
                Purpose::Call(call) => calls.push(call),
                Purpose::Several(releases) => calls.extend(releases),
                _ => {}
            }
        }
        calls.append(&mut self.taken.calls);
        let inbox = &self.line.inbox;
        inbox.lose(calls, error);
        // The next connection asks for their keys.
        for watch in self.wakeups.forget() {
            inbox.queue_watch(watch);
        }
    }
}

impl Gathering {
    /// True if more operations may come before those in the inbox are taken.
    fn goes_on(&mut self, inbox: &Inbox) -> bool {
        if self.is_busy && self.times < MOST_TIMES {
            let queued = inbox.queued();
            if queued > 0 && (self.times == 0 || queued != self.queued) {
                self.times += 1;
                self.queued = queued;
                return true;
            }
        }
        self.times = 0;
        false
    }
}

impl Drop for Actor {
    /// If something is under way, the actor's runtime has ended, or it has panicked. The inbox stays open for another
    /// actor.
    fn drop(&mut self) {
        self.give_up(&lost("the runtime of the node's connection has ended"));
    }
}
