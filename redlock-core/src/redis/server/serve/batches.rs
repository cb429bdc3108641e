//! Extensions, and releases, that are sent in one call.
//!
//! A script call of its own costs a server three times what a lock costs in a call for many. A process that holds
//! thousands of locks renews many of them at a time, and a process with many callers releases some at a time. The
//! driver sends extensions together that are neighbours in the inbox. It does the same with releases, and writes
//! acquisitions of other keys ahead of them. So operations that have a key in common keep their order.
//!
//! Each lock is judged by itself. A lock that the call did not extend is asked for by itself. A release whose result the
//! call does not name is sent again by itself.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::operation::{Operation, SharedOperation};
use crate::node::{Answer, NodeError, NodeErrorKind, Reply};
use crate::redis::protocol::command::{
    Each, MOST_IN_BATCH, encode_with_text, is_call_refused, is_noscript, is_plain_acquisition,
};
use crate::redis::protocol::wire::Value;

use super::super::inbox::{Route, Submission};
use super::{Purpose, Serve};

/// The time for which extensions go by themselves after a call was refused as such: the user may lack `MGET` or
/// `PEXPIREAT`, or a proxy may have the keys on several servers.
const PAUSE: Duration = Duration::from_secs(600);

pub(super) struct Batched {
    pub(super) operation: SharedOperation,
    pub(super) reply: Reply,
}

/// The operations that go in the next call.
#[derive(Default)]
pub(super) struct Batch {
    operations: Vec<Batched>,
    /// What they want, if there are any.
    each: Option<Each>,
    /// No call of extensions before this moment.
    again_at: Option<Instant>,
    /// True if the server has forgotten the script of releases: the next call has its text.
    is_unknown: bool,
}

fn overtaken() -> NodeError {
    let detail = "the extension was not served, and the end of the lock was sent meanwhile";
    NodeError::sent(NodeErrorKind::Server, detail)
}

fn operations(batched: &[Batched]) -> impl ExactSizeIterator<Item = &Operation> + Clone {
    batched.iter().map(|it| &*it.operation)
}

impl Serve {
    /// Keeps an extension or a release for the next call. Before any other operation, sends the kept ones, and
    /// returns the submission.
    pub(super) fn keep_for_batch(
        &mut self,
        submission: Submission,
        since: Instant,
    ) -> Option<Submission> {
        let each = Each::of(&submission.operation, &self.encoding)
            .filter(|each| !submission.route.is_barrier && self.may_batch(*each, since));
        if each.is_none() && self.goes_ahead(&submission.operation) {
            return Some(submission);
        }
        let has_room = self.batch.operations.len() < MOST_IN_BATCH;
        if each != self.batch.each || !has_room {
            self.send_batch(since);
            self.batch.each = each;
        }
        if each.is_none() {
            return Some(submission);
        }
        let Submission {
            operation, reply, ..
        } = submission;
        self.batch.operations.push(Batched { operation, reply });
        None
    }

    /// True if `operation` may be served before the releases that are kept: it acquires another key. Without this rule
    /// few releases would be neighbours, as of many callers some acquire while others release.
    fn goes_ahead(&self, operation: &Operation) -> bool {
        self.batch.each == Some(Each::Release)
            && is_plain_acquisition(operation)
            && operations(&self.batch.operations).all(|it| it.keys() != operation.keys())
    }

    /// A Cluster's server has only some of the slots, and may give each of them away.
    fn may_batch(&self, each: Each, now: Instant) -> bool {
        let is_paused = each != Each::Release && self.batch.again_at.is_some_and(|at| at > now);
        self.inbox.part().is_none() && !is_paused
    }

    /// Sends the operations that were kept.
    pub(super) fn send_batch(&mut self, since: Instant) {
        let each = self.batch.each.take();
        if self.batch.operations.len() < 2 {
            if let Some(alone) = self.batch.operations.pop() {
                self.send_alone(alone, since);
            }
        } else if let Some(each) = each {
            let batched = std::mem::take(&mut self.batch.operations);
            let is_unknown = each == Each::Release && std::mem::take(&mut self.batch.is_unknown);
            self.send_call(each, batched, since, is_unknown);
        }
    }

    fn send_call(&mut self, each: Each, batched: Vec<Batched>, since: Instant, with_text: bool) {
        let call = each.encode(operations(&batched), with_text);
        self.output.extend_from_slice(&call);
        self.push(since, Purpose::Batch(each, batched));
    }

    fn send_alone(&mut self, batched: Batched, since: Instant) {
        let Batched { operation, reply } = batched;
        self.send(Submission::new(operation, reply, Route::default()), since);
    }

    /// Answers the operations of a call, and sends those again that the call did not decide.
    pub(super) fn answer_batch(
        &mut self,
        each: Each,
        mut batched: Vec<Batched>,
        since: Instant,
        value: &Value<'_>,
    ) {
        let is_unknown = is_noscript(value);
        if is_call_refused(value) {
            match each {
                Each::Release => self.encoding.release_each = false,
                Each::Extend { .. } => self.batch.again_at = Some(self.heard + PAUSE),
            }
        }
        // The server has answered, so the wait for a second answer begins anew.
        let mut again = Vec::new();
        for (place, it) in batched.drain(..).enumerate() {
            if let Some(answer) = each.answer(value, place, self.epoch) {
                self.count_since(since);
                self.answered += 1;
                let answer = self.as_far_as_it_counts(&it.operation, answer);
                it.reply.answer(answer);
            } else if self.is_overtaken(&it.operation) {
                self.count_since(since);
                self.answered += 1;
                it.reply.answer(Answer::Failed(overtaken()));
            } else {
                again.push(it);
            }
        }
        if self.batch.operations.capacity() == 0 {
            self.batch.operations = batched;
        }
        match each {
            // Nothing was done, so sending the call again with its text runs it for the first time.
            Each::Extend { .. } if is_unknown && again.len() > 1 => {
                self.send_call(each, again, self.heard, true);
            }
            Each::Extend { .. } => {
                for alone in again {
                    self.send_alone(alone, self.heard);
                }
            }
            Each::Release => {
                self.batch.is_unknown |= is_unknown;
                for alone in again {
                    self.release_for_certain(alone);
                }
            }
        }
    }

    /// Sends a release again, with its text: a barrier may be on its way, and the next one is behind this release.
    fn release_for_certain(&mut self, batched: Batched) {
        let Batched { operation, reply } = batched;
        self.output
            .extend_from_slice(&encode_with_text(&operation, &self.encoding));
        let purpose = Purpose::Operation {
            operation,
            reply,
            route: Route::default(),
        };
        self.push(self.heard, purpose);
    }

    /// Takes out the call that would be sent next: the driver may have panicked between keeping and sending.
    pub(super) fn take_kept(&mut self) -> Option<Purpose> {
        let each = self.batch.each.take()?;
        let kept = std::mem::take(&mut self.batch.operations);
        Some(Purpose::Batch(each, kept))
    }
}
