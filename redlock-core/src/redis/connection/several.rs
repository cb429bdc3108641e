//! Releases that are made by one call.
//!
//! A release costs a server less in a call for several than in a script call alone, and a process with many callers
//! often has several to send. The actor gathers the releases that it takes from the inbox. Other calls go ahead of
//! them, unless they have a key in common: such calls keep their order.
//!
//! Each lock is judged by its own reply. A release without a valid reply is sent by itself.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::Value;
use crate::redis::inbox::Submission;

use super::command::{each, is_error};
use super::line::{Line, Purpose};

/// The most releases in one call. A server serves nothing else meanwhile.
const MOST: usize = 64;

/// After the server has refused a call for several releases, the connection makes no other for this long.
const REFUSED_FOR: Duration = Duration::from_secs(600);

/// The releases that go in the next call.
pub(super) struct Batch {
    pub(super) releases: Vec<Submission>,
    /// No call for several is made before; `None` if the server does not allow any.
    allowed_from: Option<Instant>,
}

impl Batch {
    pub(super) fn new(allowed_from: Option<Instant>) -> Self {
        Self {
            releases: Vec::new(),
            allowed_from,
        }
    }

    /// Adds a caller's call to the line, or a release to the next call for several.
    pub(super) fn add(&mut self, submission: Submission, line: &mut Line) {
        let is_allowed = self.allowed_from.is_some_and(|from| from <= line.heard);
        if is_allowed && submission.call.joins.is_some() {
            self.releases.push(submission);
            if self.releases.len() == MOST {
                self.flush(line);
            }
            return;
        }
        let mut releases = self.releases.iter().map(|it| it.call.first_key());
        if releases.any(|key| submission.call.keys().any(|it| it == key)) {
            self.flush(line);
        }
        line.add_call(submission, false);
    }

    /// Adds the releases to the line.
    pub(super) fn flush(&mut self, line: &mut Line) {
        let mut releases = std::mem::take(&mut self.releases);
        let script = releases.first().and_then(|it| it.call.joins);
        if let (Some(script), 2..) = (script, releases.len()) {
            let command = each(script, releases.iter().map(|it| &*it.call));
            line.add(command, Purpose::Several(releases));
        } else if let Some(alone) = releases.pop() {
            line.add_call(alone, false);
        }
    }

    /// The replies to `count` releases, by the server's answer to a call for all of them. None if it was refused: the
    /// releases are to be sent by themselves.
    pub(super) fn replies(&mut self, count: usize, value: Value, line: &mut Line) -> Vec<Value> {
        match value {
            Value::Int(1) => vec![value; count],
            Value::List(list) if list.len() == count => list,
            refusal => {
                if is_error(&refusal, "NOSCRIPT") {
                    line.load_scripts();
                } else {
                    // The ACL has changed, or a proxy stands before several servers.
                    self.allowed_from = Some(line.heard + REFUSED_FOR);
                }
                Vec::new()
            }
        }
    }
}
