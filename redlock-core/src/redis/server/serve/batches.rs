//! Releases that are sent in one call.
//!
//! A script call of its own costs a server more than a lock costs in a call for many, and a process with many callers
//! releases some at a time. The driver sends releases together that are neighbours in the inbox, and writes acquisitions
//! of other keys ahead of them. So operations that have a key in common keep their order.
//!
//! Each lock is judged by itself. A release whose result the call does not name is sent again by itself.

use tokio::time::Instant;

use crate::node::Reply;
use crate::node::operation::{Operation, SharedOperation};
use crate::redis::protocol::command::{
    MOST_IN_BATCH, answer_of_each, encode_with_text, is_call_refused, is_noscript,
    is_plain_acquisition, may_be_batched, release_each,
};
use crate::redis::protocol::wire::Value;

use super::super::inbox::{Route, Submission};
use super::{Purpose, Serve};

pub(super) struct Batched {
    pub(super) operation: SharedOperation,
    pub(super) reply: Reply,
}

/// The releases that go in the next call.
#[derive(Default)]
pub(super) struct Batch {
    releases: Vec<Batched>,
    /// True if the server has forgotten the script: the next call has its text.
    is_unknown: bool,
}

fn operations(batched: &[Batched]) -> impl ExactSizeIterator<Item = &Operation> + Clone {
    batched.iter().map(|it| &*it.operation)
}

impl Serve {
    /// Keeps a release for the next call. Before any other operation, sends the kept ones, and returns the submission.
    pub(super) fn keep_for_batch(
        &mut self,
        submission: Submission,
        since: Instant,
    ) -> Option<Submission> {
        if !self.may_batch(&submission) {
            if !self.goes_ahead(&submission.operation) {
                self.send_batch(since);
            }
            return Some(submission);
        }
        if self.batch.releases.len() == MOST_IN_BATCH {
            self.send_batch(since);
        }
        let Submission {
            operation, reply, ..
        } = submission;
        self.batch.releases.push(Batched { operation, reply });
        None
    }

    /// False in a Cluster: its server has only some of the slots, and may give each of them away.
    fn may_batch(&self, submission: &Submission) -> bool {
        !submission.route.is_barrier
            && self.inbox.part().is_none()
            && may_be_batched(&submission.operation, &self.encoding)
    }

    /// True if `operation` may be served before the releases that are kept: it acquires another key. Without this rule
    /// few releases would be neighbours, as of many callers some acquire while others release.
    fn goes_ahead(&self, operation: &Operation) -> bool {
        is_plain_acquisition(operation)
            && operations(&self.batch.releases).all(|it| it.keys() != operation.keys())
    }

    /// Sends the releases that were kept.
    pub(super) fn send_batch(&mut self, since: Instant) {
        if self.batch.releases.len() > 1 {
            let releases = std::mem::take(&mut self.batch.releases);
            let with_text = std::mem::take(&mut self.batch.is_unknown);
            let call = release_each(operations(&releases), with_text);
            self.output.extend_from_slice(&call);
            self.push(since, Purpose::Batch(releases));
        } else if let Some(Batched { operation, reply }) = self.batch.releases.pop() {
            self.send(Submission::new(operation, reply, Route::default()), since);
        }
    }

    /// Answers the releases of a call, and sends those again that the call did not decide.
    pub(super) fn answer_batch(
        &mut self,
        releases: Vec<Batched>,
        since: Instant,
        value: &Value<'_>,
    ) {
        self.batch.is_unknown |= is_noscript(value);
        if is_call_refused(value) {
            self.encoding.release_each = false;
        }
        for (place, it) in releases.into_iter().enumerate() {
            if let Some(answer) = answer_of_each(value, place, self.epoch) {
                self.count_since(since);
                self.answered += 1;
                it.reply.answer(answer);
            } else {
                self.release_for_certain(it);
            }
        }
    }

    /// Sends a release again, with its text: a barrier may be on its way, and the next one is behind this release. The
    /// server has answered, so the wait for the second answer begins anew.
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

    /// Takes out the releases of the next call: the driver may have panicked between keeping and sending.
    pub(super) fn take_kept(&mut self) -> Purpose {
        Purpose::Batch(std::mem::take(&mut self.batch.releases))
    }
}
