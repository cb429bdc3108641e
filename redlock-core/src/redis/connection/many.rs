//! Calls that are made by one.
//!
//! A script call of its own costs a server more than a lock costs in a call for many, and a process with many callers
//! acquires and releases some at a time. The actor makes one call of neighbours in the inbox. In it, acquisitions go
//! ahead of releases of other keys, so calls that have a key in common keep their order.
//!
//! Each lock is judged by its own reply. If a reply is missing or is not valid, the call has failed; it is never a grant.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::{Call, NodeError, NodeErrorKind, Value, is_refusal};
use crate::redis::inbox::Submission;

use super::command::{is_joinable, is_noscript, many};
use super::line::{Line, Purpose};

/// The most acquisitions, and the most releases, in one call. A server serves nothing else meanwhile.
const MOST: usize = 64;

/// After the server has refused a call for many, the connection makes no other for this long.
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

/// What became of a call.
pub(super) enum Outcome {
    Answered(Value),
    Failed(NodeError),
    /// The server did not decide the release.
    Again,
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

    /// True if `call` may go in the next call: a release may, and an acquisition if no release is of its key.
    fn has_room_for(&self, call: &Call) -> bool {
        if call.is_release() {
            return self.releases.len() < MOST;
        }
        let mut releases = self.releases.iter();
        self.acquisitions.len() < MOST && releases.all(|it| it.call.first_key() != call.first_key())
    }

    /// Adds a caller's call to the next call for many. A call that cannot go there is sent by itself, after what was
    /// added before.
    pub(super) fn add(&mut self, submission: Submission, since: Instant, line: &mut Line) {
        let is_open = self.is_allowed && self.refused_until.is_none_or(|until| until <= since);
        if !is_open || !is_joinable(&submission.call) {
            self.flush(since, line);
            return line.add_call(submission, since);
        }
        if !self.has_room_for(&submission.call) {
            self.flush(since, line);
        }
        if submission.call.is_release() {
            self.releases.push(submission);
        } else {
            self.acquisitions.push(submission);
        }
    }

    /// Adds what was kept for the next call to the line.
    pub(super) fn flush(&mut self, since: Instant, line: &mut Line) {
        let acquired = self.acquisitions.len();
        let mut calls = self.take();
        let script = calls.first().and_then(|it| it.call.joins());
        match (script, calls.len()) {
            (Some(script), 2..) => {
                let command = many(script, calls.iter().map(|it| &*it.call), acquired);
                line.add(command, Purpose::Many(calls), since);
            }
            _ => {
                if let Some(alone) = calls.pop() {
                    line.add_call(alone, since);
                }
            }
        }
    }

    /// What became of each of `calls`, by the server's answer to a call for all of them.
    pub(super) fn outcomes(
        &mut self,
        calls: Vec<Submission>,
        value: Value,
        line: &mut Line,
    ) -> impl Iterator<Item = (Submission, Outcome)> + use<> {
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
            Value::Error(text) => Some(self.refused(&text, line)),
            _ => Some(invalid()),
        };
        let mut parts = parts.into_iter();
        calls.into_iter().map(move |submission| {
            let call = &submission.call;
            let outcome = match parts.next() {
                Some(value @ Value::Int(_)) if call.is_release() => Outcome::Answered(value),
                _ if call.is_release() => Outcome::Again,
                Some(value @ (Value::Int(1) | Value::Text(_) | Value::Error(_))) => {
                    Outcome::Answered(value)
                }
                _ => Outcome::Failed(refusal.clone().unwrap_or_else(invalid)),
            };
            (submission, outcome)
        })
    }

    /// The server has refused the whole call. If it looked at the words alone, nothing ran.
    fn refused(&mut self, text: &[u8], line: &mut Line) -> NodeError {
        const PASSES: [&[u8]; 6] = [
            b"NOSCRIPT",
            b"BUSY",
            b"LOADING",
            b"OOM",
            b"MISCONF",
            b"NOREPLICAS",
        ];
        if is_noscript(&Value::Error(text.into())) {
            line.load_scripts();
        } else if !PASSES.iter().any(|code| text.starts_with(code)) {
            // The ACL has changed, or a proxy stands before several servers.
            self.refused_until = Some(line.heard + REFUSED_FOR);
        }
        let says = |words: &[u8]| text.windows(words.len()).any(|part| part == words);
        let error = NodeError::server(text);
        if !is_refusal(text) && !says(b"unknown command") {
            return error;
        }
        // Not the kind of the error: it may concern the key of another call.
        let detail =
            format!("it was sent together with others, and one of them was refused: {error}");
        NodeError::unsent(NodeErrorKind::Server, detail)
    }
}

fn invalid() -> NodeError {
    let detail = "the server's answer is not a valid answer to a call for many";
    NodeError::sent(NodeErrorKind::Protocol, detail)
}
