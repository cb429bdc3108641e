//! Extensions that are sent in one call.
//!
//! A process that holds thousands of locks renews many of them at a time, and a script call of its own costs a
//! server three times what a lock costs in a call for many. The driver sends extensions together that are neighbours in
//! the inbox, so the order of the operations stays. Each extension is judged by itself: a lock that the call did
//! not extend, for whatever reason, is asked for by itself, and that answer counts.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::operation::{Operation, SharedOperation};
use crate::node::{Answer, NodeError, NodeErrorKind, Reply};
use crate::redis::protocol::command::{
    Dialect, MOST_IN_BATCH, batch_ttl, encode_batch, is_extended, is_noscript,
};
use crate::redis::protocol::wire::Value;

use super::super::inbox::{Route, Submission};
use super::{InFlight, Purpose, Serve};

/// The time for which extensions go by themselves after an error: the user may lack `MGET` or `PEXPIREAT`, or a
/// proxy may have the keys on several servers.
const PAUSE: Duration = Duration::from_secs(600);

pub(super) struct Batched {
    operation: SharedOperation,
    pub(super) reply: Reply,
}

/// The extensions that go in the next call.
#[derive(Default)]
pub(super) struct Batch {
    extensions: Vec<Batched>,
    ttl: Duration,
    /// No call before this moment.
    again_at: Option<Instant>,
}

fn overtaken() -> NodeError {
    let detail = "the extension was not served, and the end of the lock was sent meanwhile";
    NodeError::sent(NodeErrorKind::Server, detail)
}

fn operations(extensions: &[Batched]) -> impl ExactSizeIterator<Item = &Operation> + Clone {
    extensions.iter().map(|it| &*it.operation)
}

impl Serve {
    /// Keeps an extension for the next call. Before any other operation, sends the kept ones, and returns the
    /// submission.
    pub(super) fn keep_for_batch(
        &mut self,
        submission: Submission,
        since: Instant,
    ) -> Option<Submission> {
        let ttl = batch_ttl(&submission.operation).filter(|_| self.may_batch(since));
        let has_room = self.batch.extensions.len() < MOST_IN_BATCH;
        if ttl != Some(self.batch.ttl) || !has_room {
            self.send_batch(since);
        }
        let Some(ttl) = ttl else {
            return Some(submission);
        };
        let Submission {
            operation, reply, ..
        } = submission;
        self.batch.ttl = ttl;
        self.batch.extensions.push(Batched { operation, reply });
        None
    }

    /// A Cluster's server has only some of the slots, and may give each of them away.
    fn may_batch(&self, now: Instant) -> bool {
        self.encoding.dialect == Dialect::NamesHolder
            && self.inbox.part().is_none()
            && self.batch.again_at.is_none_or(|at| at <= now)
    }

    /// Sends the extensions that were kept.
    pub(super) fn send_batch(&mut self, since: Instant) {
        let (extensions, ttl) = (std::mem::take(&mut self.batch.extensions), self.batch.ttl);
        if extensions.len() > 1 {
            let call = encode_batch(operations(&extensions), ttl, false);
            self.output.extend_from_slice(&call);
            self.push(since, Purpose::Batch(extensions));
        } else {
            for alone in extensions {
                self.send_alone(alone, since);
            }
        }
    }

    fn send_alone(&mut self, batched: Batched, since: Instant) {
        let Batched { operation, reply } = batched;
        self.send(Submission::new(operation, reply, Route::default()), since);
    }

    pub(super) fn answer_batch(&mut self, in_flight: InFlight, value: &Value<'_>) {
        let InFlight {
            since,
            purpose: Purpose::Batch(extensions),
            ..
        } = in_flight
        else {
            return;
        };
        let is_unknown = is_noscript(value);
        if matches!(value, Value::Error(_)) && !is_unknown {
            self.batch.again_at = Some(self.heard + PAUSE);
        }
        // The server has answered, so the wait for a second answer begins anew.
        let mut again = Vec::new();
        for (place, batched) in extensions.into_iter().enumerate() {
            if is_extended(value, place) {
                self.count_since(since);
                self.answered += 1;
                let granted = Answer::Granted {
                    counter: None,
                    epoch: self.epoch,
                    permits: None,
                };
                let answer = self.as_far_as_it_counts(&batched.operation, granted);
                batched.reply.answer(answer);
            } else if self.is_overtaken(&batched.operation) {
                self.count_since(since);
                self.answered += 1;
                batched.reply.answer(Answer::Failed(overtaken()));
            } else {
                again.push(batched);
            }
        }
        if is_unknown && again.len() > 1 {
            // Nothing was extended, so sending the call again with its text runs it for the first time.
            let ttl = again.first().and_then(|it| batch_ttl(&it.operation));
            let call = encode_batch(operations(&again), ttl.unwrap_or_default(), true);
            self.output.extend_from_slice(&call);
            self.push(self.heard, Purpose::Batch(again));
        } else {
            for alone in again {
                self.send_alone(alone, self.heard);
            }
        }
    }
}
