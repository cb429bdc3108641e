//! One connection, from its first call to its end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::env::caught::caught;
use crate::model::brief::Brief;
use crate::node::log::log_node;
use crate::node::{Answer, Call, Effect, NodeError, Value, Vote};
use crate::redis::errors::{lost, overdue};
use crate::redis::inbox::{Inbox, Owed, Submission, Taken};
use crate::redis::options::RedisOptions;
use crate::redis::restart_check::ServerCheck;

use super::check::Check;
use super::command::{Dialect, is_marker_gone, is_noscript};
use super::connect::Connected;
use super::line::{Landed, Line, Purpose};
use super::memory::Memory;
use super::owed::OwedReleases;
use super::several::Batch;
use super::wakeups::Wakeups;

/// The most operations that a lone caller has under way. If it continues at a majority, an operation or two
/// stay unanswered on the slowest node.
const QUIET: usize = 2;

/// The most times in a row that several callers go first: what they submit meanwhile goes in one call.
const MOST_TIMES: u32 = 3;

/// After a standstill, the crate's task has this long to read what the server has answered meanwhile.
const TO_READ: Duration = Duration::from_millis(20);

/// Serves a connection until it breaks, or until the node was dropped and everything is answered.
pub(in crate::redis) struct Actor {
    line: Line,
    batch: Batch,
    check: Check,
    owed: OwedReleases,
    wakeups: Wakeups,
    /// The question about the server's memory, if the server tells of it.
    memory: Option<Memory>,
    /// A buffer for new submissions, reused.
    taken: Vec<Submission>,
    /// The number of operations answered since the inbox was last told.
    answered: usize,
    gathering: Gathering,
    is_suspect: bool,
    /// True if acquisitions of earlier connections have no answer.
    has_lost: bool,
    /// True if all operations are answered or given up.
    is_over: bool,
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

pub(in crate::redis) enum ConnectionEnd {
    /// The node was dropped.
    Dropped,
    Broken(NodeError),
}

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
        let batch = Batch::new(connected.allowed.joins);
        inbox.metrics.lacks(connected.allowed.mend);
        let mut check = Check::new(server_check);
        let owed = inbox.open(check.quarantine());
        let mut line = Line::new(
            connected.connection,
            dialect,
            inbox,
            options,
            leaves_a_replica,
        );
        check.ask(&mut line);
        let mut owed_releases = OwedReleases::new();
        owed_releases.send(owed, &mut line);
        Self {
            memory: connected.facts.is_open.then(|| Memory::new(line.heard)),
            line,
            batch,
            check,
            owed: owed_releases,
            wakeups: connected.wakeups,
            taken: Vec::new(),
            answered: 0,
            gathering: Gathering::default(),
            is_suspect: false,
            has_lost: !inbox.lost.is_empty(),
            is_over: false,
        }
    }

    /// Serves the connection until it breaks, the node was dropped, or another server is the node's.
    pub(in crate::redis) async fn serve(mut self, mut moved: Moved<'_>) -> ConnectionEnd {
        poll_fn(|context| match Pin::new(&mut self).poll(context) {
            Poll::Pending => moved.as_mut().poll(context).map(|error| self.end(error)),
            ended @ Poll::Ready(_) => ended,
        })
        .await
    }

    fn step(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, NodeError> {
        loop {
            while let Some(landed) = self.line.next(context)? {
                self.trust_again();
                self.read(landed)?;
            }
            let launched = self.line.launched;
            if self.check.at.is_some() && self.line.inbox.is_doubted() {
                self.check.ask_again(&mut self.line);
            }
            self.wakeups.follow(&mut self.line)?;
            let nothing_was_sent = |it: &Self| it.line.launched == launched;
            match self.take(context) {
                None if nothing_was_sent(self) => {
                    context.waker().wake_by_ref();
                    return Ok(Poll::Pending);
                }
                None | Some(Taken::Some) => {}
                Some(Taken::Ended) if self.line.is_empty() => return Ok(Poll::Ready(())),
                Some(_) => {
                    self.watch(context)?;
                    if nothing_was_sent(self) {
                        return Ok(Poll::Pending);
                    }
                }
            }
        }
    }

    /// Sends the operations that callers submitted. `None` if more of them may come before this goes on.
    fn take(&mut self, context: &Context<'_>) -> Option<Taken> {
        if self.gathering.goes_on(&self.line.inbox) {
            return None;
        }
        let answered = std::mem::take(&mut self.answered);
        let found = self.line.inbox.take(&mut self.taken, answered, context);
        if self.taken.is_empty() {
            return Some(found);
        }
        self.gathering.is_busy = self.line.calls.max(self.taken.len()) > QUIET;
        let since = self.line.now();
        for submission in self.taken.drain(..) {
            self.batch.add(submission, since, &mut self.line);
        }
        self.batch.flush(since, &mut self.line);
        self.line.send(since);
        Some(found)
    }

    /// Handles an answer of the server.
    fn read(
        &mut self,
        Landed {
            purpose,
            since,
            value,
        }: Landed,
    ) -> Result<(), NodeError> {
        let line = &mut self.line;
        match purpose {
            Purpose::Scripts => return Ok(()),
            Purpose::Tracking => {
                self.wakeups.tracks(&value, line);
                return Ok(());
            }
            Purpose::Keys(number) => {
                self.wakeups.answered(number, &value, line);
                return Ok(());
            }
            // A refusal ends the connection, and does not count as an answer.
            Purpose::Check => self.check.answered(&value, line)?,
            Purpose::Heartbeat => {}
            Purpose::Memory => {
                if let Some(memory) = &mut self.memory {
                    memory.answered(&value, line)?;
                }
            }
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
            Purpose::Owed(owed) if is_noscript(&value) => {
                line.send_owed(owed, true, line.heard);
                return Ok(());
            }
            Purpose::Owed(owed) => self.tell_owed(owed, value),
        }
        self.count(since);
        Ok(())
    }

    /// Delivers the server's reply to a caller.
    fn tell(&mut self, submission: Submission, value: Value) {
        if is_marker_gone(&value) {
            self.check.doubt(&mut self.line);
        }
        let call = &submission.call;
        let is_settled = self.is_settled(call, &value);
        let answer = Answer::of_reply(call, value, self.line.inbox.epoch());
        let answer = self.check.as_far_as_it_counts(call, answer);
        if let Answer::Failed(error) = answer {
            return self.fail(submission, error);
        }
        if call.effect() == Effect::Takes && self.line.inbox.metrics.refusals.voted() {
            log_node!(self.line.inbox.log, INFO, "node votes again");
        }
        self.answered += 1;
        if !is_settled && let Some(mut owed) = submission.owed(&self.line.inbox.time) {
            owed.is_answered = true;
            self.owed.owe(owed, &mut self.line);
        }
        submission.reply.answer(answer);
    }

    /// Tells a caller that the server did not serve the call. A release is owed.
    fn fail(&mut self, submission: Submission, error: NodeError) {
        self.answered += 1;
        if let Some(owed) = submission.owed(&self.line.inbox.time) {
            self.owed.owe_refused(owed, &error, &mut self.line);
        }
        let (inbox, heard) = (&self.line.inbox, self.line.heard);
        inbox.metrics.failed(error.kind(), 1);
        inbox.metrics.record_error(&error);
        let is_a_vote = matches!(submission.call.effect(), Effect::Takes | Effect::Keeps);
        if is_a_vote && error.concerns_the_node() && inbox.metrics.refusals.refused(&error, heard) {
            log_node!(
                inbox.log,
                WARN,
                "node answers with errors; it does not vote until it serves an operation",
                reason = %error
            );
        }
        submission.reply.answer(Answer::Failed(error));
    }

    /// Records the answer to an owed release.
    fn tell_owed(&mut self, mut owed: Owed, value: Value) {
        let is_settled = self.is_settled(&owed.call, &value);
        let line = &mut self.line;
        match Answer::of_reply(&owed.call, value, line.inbox.epoch()) {
            Answer::Failed(error) => {
                line.inbox.metrics.record_error(&error);
                self.owed.owe_refused(owed, &error, line);
                self.owed.tried(false, line);
            }
            Answer::Reply { .. } => {
                if !is_settled {
                    owed.is_answered = true;
                    self.owed.owe(owed, line);
                }
                self.owed.tried(is_settled, line);
            }
        }
    }

    /// False for a release that found nothing although its acquisition was never answered: the acquisition may lie in an
    /// old socket of a server that stands still, and come later.
    fn is_settled(&mut self, call: &Call, value: &Value) -> bool {
        let inbox = &self.line.inbox;
        if !self.has_lost || !call.is_release() || !inbox.lost.has_that_of(call) {
            return true;
        }
        let answer = Answer::of_reply(call, value.clone(), inbox.epoch());
        let is_released = matches!(call.vote(answer), Vote::Granted { .. });
        if is_released {
            inbox.lost.forget_that_of(call);
            self.has_lost = !inbox.lost.is_empty();
        }
        is_released
    }

    /// Counts an answer. Its latency ends when it was read, so no clock is read for each answer.
    fn count(&self, since: Instant) {
        let after = self.line.heard.saturating_duration_since(since);
        self.line.inbox.metrics.answered(after);
        if let Some(observer) = &self.line.options.answers {
            caught("an observer of answers", || observer.answered(after));
        }
    }

    /// Does what is due, and waits for what is due next.
    fn watch(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let line = &mut self.line;
        while let Some((now, stood_still)) = line.fired(context) {
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if is_due(self.check.at) {
                self.check.ask(line);
            }
            if is_due(self.owed.retry_at) {
                self.owed.send_some(now, line);
            }
            if let Some(memory) = &mut self.memory {
                memory.ask(now, line);
            }
            let (suspect_after, dead_after) = (line.options.suspect_after, line.options.dead_after);
            let next = match line.waited(now) {
                None => {
                    let idle = now.saturating_duration_since(line.heard);
                    let heartbeat = line.options.heartbeat.max(suspect_after);
                    // The restart check's questions serve as heartbeats.
                    if idle >= heartbeat && self.check.at.is_none() {
                        // Any command that every user may run would do.
                        line.ask(::redis::cmd("TIME"), Purpose::Heartbeat);
                    }
                    heartbeat.checked_sub(idle).unwrap_or(suspect_after)
                }
                Some(waited) if waited >= dead_after && line.may_still_read(stood_still) => TO_READ,
                Some(waited) if waited >= dead_after => return Err(overdue(waited)),
                Some(waited) if waited >= suspect_after => {
                    if !std::mem::replace(&mut self.is_suspect, true) {
                        log_node!(
                            line.inbox.log,
                            WARN,
                            "node does not answer; it does not vote until it does",
                            overdue = %Brief(waited)
                        );
                    }
                    line.inbox.suspect(waited);
                    suspect_after.min(dead_after.saturating_sub(waited))
                }
                Some(waited) => suspect_after.saturating_sub(waited),
            };
            let others = [self.check.at, self.owed.retry_at].into_iter().flatten();
            let others = others.map(|at| at.saturating_duration_since(now));
            line.set_alarm(now, others.fold(next, Duration::min));
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
        self.check.ask_again(line);
        line.inbox.trust();
    }

    /// Ends the connection, and gives its operations up.
    fn end(&mut self, error: NodeError) -> ConnectionEnd {
        self.give_up(&error, false);
        ConnectionEnd::Broken(error)
    }

    /// The connection is gone. Callers hear that the outcome is unknown, and releases are owed. If the actor `moves`,
    /// another one goes on with the queue, and otherwise the inbox is closed.
    fn give_up(&mut self, error: &NodeError, moves: bool) {
        self.is_over = true;
        let inbox = &self.line.inbox.clone();
        let (mut owed, mut calls) = (Vec::new(), self.batch.take());
        for purpose in self.line.end() {
            match purpose {
                Purpose::Call(call) => calls.push(call),
                Purpose::Several(releases) => calls.extend(releases),
                Purpose::Owed(still) => owed.push(still),
                _ => {}
            }
        }
        calls.append(&mut self.taken);
        owed.extend(calls.iter().filter_map(|it| it.owed(&inbox.time)));
        inbox.lost.add(calls.iter().map(|it| &*it.call));
        let watches = self.wakeups.forget();
        if moves {
            inbox.moves(owed);
        } else {
            inbox.close(error, owed);
        }
        inbox.keep(watches);
        // These operations may have been served, and must be undone.
        let unknown = error.clone().into_sent();
        inbox.metrics.failed(error.kind(), calls.len());
        for call in calls {
            call.reply.answer(Answer::Failed(unknown.clone()));
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

impl Future for Actor {
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

impl Drop for Actor {
    /// The actor's runtime has ended, or it has panicked. The operations in flight may have been served.
    fn drop(&mut self) {
        if !self.is_over {
            let ended = lost("the runtime of the node's connection has ended");
            self.give_up(&ended, true);
        }
    }
}
