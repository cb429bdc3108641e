//! Extensions that are sent in one call.
//!
//! A process that holds thousands of locks renews many of them at a time, and a script call of its own costs a
//! server three times what a lock costs in a call for many. The driver joins extensions that are neighbours in
//! the inbox, so the order of the operations stays. Each extension is judged by itself: a lock that the call did
//! not extend, for whatever reason, is asked for by itself, and that answer counts.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::operation::{Operation, SharedOperation};
use crate::node::{Answer, NodeError, NodeErrorKind, Reply};
use crate::redis::protocol::command::{
    Dialect, MOST_JOINED, encode_joined, is_extended, is_noscript, joins,
};
use crate::redis::protocol::wire::Value;

use super::super::inbox::{Route, Submission};
use super::{InFlight, Purpose, Serve};

/// The time for which extensions go by themselves after an error: the user may lack `MGET`, or a proxy may
/// have the keys on several servers.
const PAUSE: Duration = Duration::from_secs(600);

pub(super) struct Joined {
    operation: SharedOperation,
    pub(super) reply: Reply,
}

/// The extensions that the next call joins.
#[derive(Default)]
pub(super) struct Joining {
    joined: Vec<Joined>,
    ttl: Duration,
    /// No call before this moment.
    again_at: Option<Instant>,
}

fn overtaken() -> NodeError {
    let detail = "the extension was not served, and the end of the lock was sent meanwhile";
    NodeError::sent(NodeErrorKind::Server, detail)
}

fn operations(joined: &[Joined]) -> impl ExactSizeIterator<Item = &Operation> + Clone {
    joined.iter().map(|it| &*it.operation)
}

impl Serve {
    /// Keeps an extension for the next call. Before any other operation, sends what was kept, and returns the
    /// submission.
    pub(super) fn join(&mut self, submission: Submission, since: Instant) -> Option<Submission> {
        let ttl = joins(&submission.operation).filter(|_| self.may_join(since));
        let has_room = self.joining.joined.len() < MOST_JOINED;
        if ttl != Some(self.joining.ttl) || !has_room {
            self.send_joined(since);
        }
        let Some(ttl) = ttl else {
            return Some(submission);
        };
        let Submission {
            operation, reply, ..
        } = submission;
        self.joining.ttl = ttl;
        self.joining.joined.push(Joined { operation, reply });
        None
    }

    /// A Cluster's server has only some of the slots, and may give each of them away.
    fn may_join(&self, now: Instant) -> bool {
        self.encoding.dialect == Dialect::NamesHolder
            && self.inbox.part().is_none()
            && self.joining.again_at.is_none_or(|at| at <= now)
    }

    /// Sends the extensions that were kept.
    pub(super) fn send_joined(&mut self, since: Instant) {
        let (joined, ttl) = (std::mem::take(&mut self.joining.joined), self.joining.ttl);
        if joined.len() > 1 {
            let call = encode_joined(operations(&joined), ttl, false);
            self.output.extend_from_slice(&call);
            self.push(since, Purpose::Joined(joined));
        } else {
            let alone = joined.into_iter();
            alone.for_each(|it| self.send_alone(it, since));
        }
    }

    fn send_alone(&mut self, joined: Joined, since: Instant) {
        let Joined { operation, reply } = joined;
        self.send(Submission::new(operation, reply, Route::default()), since);
    }

    pub(super) fn answer_joined(&mut self, in_flight: InFlight, value: &Value<'_>) {
        let InFlight {
            since,
            purpose: Purpose::Joined(joined),
        } = in_flight
        else {
            return;
        };
        let is_unknown = is_noscript(value);
        if matches!(value, Value::Error(_)) && !is_unknown {
            self.joining.again_at = Some(self.heard + PAUSE);
        }
        let mut again = Vec::new();
        for (place, joined) in joined.into_iter().enumerate() {
            if is_extended(value, place) {
                self.count_since(since);
                self.answered += 1;
                let granted = Answer::Granted {
                    counter: None,
                    epoch: self.epoch,
                    permits: None,
                };
                let answer = self.as_far_as_it_counts(&joined.operation, granted);
                joined.reply.answer(answer);
            } else if self.is_overtaken(&joined.operation) {
                self.count_since(since);
                self.answered += 1;
                joined.reply.answer(Answer::Failed(overtaken()));
            } else {
                again.push(joined);
            }
        }
        if is_unknown && again.len() > 1 {
            // Nothing was extended, so sending the call again with its text runs it for the first time.
            let ttl = again.first().and_then(|it| joins(&it.operation));
            let call = encode_joined(operations(&again), ttl.unwrap_or_default(), true);
            self.output.extend_from_slice(&call);
            self.push(since, Purpose::Joined(again));
        } else {
            again.into_iter().for_each(|it| self.send_alone(it, since));
        }
    }
}
