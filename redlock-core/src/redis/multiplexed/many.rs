//! Calls that are made by one.
//!
//! A script call of its own costs a server more than a lock costs in a call for many, and a process with many callers
//! acquires and releases some at a time. The actor makes one call of neighbours in the inbox. In it, acquisitions go
//! ahead of releases of other keys, so calls that have a key in common keep their order.
//!
//! Each lock is judged by its own reply. A reply that is missing or is none to such a call is a failure, and never a
//! grant.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::{Call, Effect, NodeError, NodeErrorKind, Value, is_refusal};
use crate::redis::server::inbox::Submission;

use super::actor::{Actor, Purpose};
use super::command::{command, is_joinable, is_noscript, many};

/// The most acquisitions, and the most releases, in one call. A server serves nothing else meanwhile.
const MOST: usize = 64;

/// For this long a connection whose call for many was refused makes no other: the ACL has changed, or a proxy has
/// several servers behind it.
const REFUSED_FOR: Duration = Duration::from_secs(600);

/// What goes in the next call.
pub(super) struct Batch {
    acquisitions: Vec<Submission>,
    releases: Vec<Submission>,
    /// False if the server's ACL forbids the call for many.
    is_allowed: bool,
    /// No call for many is made until then.
    refused_until: Option<Instant>,
}

impl Batch {
    pub(super) fn new(is_allowed: bool) -> Self {
        Self {
            acquisitions: Vec::new(),
            releases: Vec::new(),
            is_allowed,
            refused_until: None,
        }
    }

    /// Takes everything out, in the order of the call.
    pub(super) fn take(&mut self) -> Vec<Submission> {
        let mut calls = std::mem::take(&mut self.acquisitions);
        calls.append(&mut self.releases);
        calls
    }

    fn is_open(&self, now: Instant) -> bool {
        self.is_allowed && self.refused_until.is_none_or(|until| until <= now)
    }

    /// True if `call` may go in the next call: it is a release, or acquires a key that none of the releases gives back.
    fn has_room_for(&self, call: &Call) -> bool {
        if call.is_release() {
            return self.releases.len() < MOST;
        }
        let mut releases = self.releases.iter();
        self.acquisitions.len() < MOST && releases.all(|it| it.call.first_key() != call.first_key())
    }
}

impl Actor {
    /// Adds a call of a caller to the next one, or sends it behind that.
    pub(super) fn add(&mut self, submission: Submission, since: Instant) {
        if !is_joinable(&submission.call) || !self.batch.is_open(since) {
            self.send_batch(since);
            return self.send_call(submission, since);
        }
        if !self.batch.has_room_for(&submission.call) {
            self.send_batch(since);
        }
        let kept = if submission.call.is_release() {
            &mut self.batch.releases
        } else {
            &mut self.batch.acquisitions
        };
        kept.push(submission);
    }

    /// Sends what was kept for the next call.
    pub(super) fn send_batch(&mut self, since: Instant) {
        let taken = self.batch.acquisitions.len();
        let mut calls = self.batch.take();
        let script = calls.first().and_then(|it| it.call.joins());
        match (script, calls.len()) {
            (Some(script), 2..) => {
                let command = many(script, calls.iter().map(|it| &*it.call), taken);
                self.send(command, since, Purpose::Many(calls));
            }
            _ => {
                if let Some(alone) = calls.pop() {
                    self.send_call(alone, since);
                }
            }
        }
    }

    /// Answers the calls of a call for many, and sends the releases again that it did not decide.
    pub(super) fn answer_many(&mut self, calls: Vec<Submission>, since: Instant, value: Value) {
        let mut parts = Vec::new();
        let refusal = match value {
            Value::Int(1) => {
                parts.resize(calls.len(), Value::Int(1));
                None
            }
            Value::List(list) if list.len() == calls.len() => {
                parts = list;
                None
            }
            Value::Error(text) => Some(self.many_refused(&text)),
            _ => Some(NodeError::sent(
                NodeErrorKind::Protocol,
                "the server's answer is not a valid answer to a call for many",
            )),
        };
        let mut parts = parts.into_iter();
        for submission in calls {
            match (parts.next(), &refusal) {
                (Some(value), _) if is_decided(&submission.call, &value) => {
                    self.count(since);
                    self.tell(submission, value);
                }
                (_, Some(error)) if submission.call.effect() == Effect::Takes => {
                    self.count(since);
                    self.fail(submission, error.clone());
                }
                _ => {
                    // By itself, with its text. The server has answered, so the wait for this answer begins anew.
                    let command = command(&submission.call, &self.dialect, true);
                    self.send(command, self.heard, Purpose::Call(submission));
                }
            }
        }
    }

    /// The whole call was refused. If the server looked at the words alone, nothing ran.
    fn many_refused(&mut self, text: &[u8]) -> NodeError {
        let error = NodeError::server(text);
        if is_noscript(&Value::Error(text.into())) {
            self.load_scripts();
            return error.into_unsent();
        }
        let says = |words: &[u8]| text.windows(words.len()).any(|part| part == words);
        if text.starts_with(b"NOPERM") || text.starts_with(b"CROSSSLOT") || says(b"unknown command")
        {
            self.batch.refused_until = Some(self.heard + REFUSED_FOR);
            return error.into_unsent();
        }
        if is_refusal(text) {
            error.into_unsent()
        } else {
            error
        }
    }
}

/// True unless `value` is a failure of a release, which then goes by itself.
fn is_decided(call: &Call, value: &Value) -> bool {
    !call.is_release() || matches!(value, Value::Int(_))
}
