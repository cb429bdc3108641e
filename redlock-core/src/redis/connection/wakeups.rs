//! What the server says of keys for which callers wait.
//!
//! The server sends push messages of RESP3 on the connection of the node, only about the keys that it was asked about
//! (`CLIENT TRACKING ON OPTIN`). Without `NOLOOP`, it also sends them for what this process changed: other callers of
//! this process wait too. A message only says that a key changed, so the server is asked what became of the key, and
//! with the answer it remembers the key again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::redis::{Pipeline, PushInfo, PushKind, Value as Theirs};

use crate::node::log::log_node;
use crate::node::watch::{KeyReport, Watch};
use crate::node::{NodeError, Remaining, Value};
use crate::redis::errors::{CLOSED, lost};

use super::line::{Line, Purpose};

/// The wake-ups of one connection.
pub(in crate::redis) struct Wakeups {
    /// Without push messages, only the next call finds that the connection is closed.
    is_closed: Option<Arc<AtomicBool>>,
    tracking: Tracking,
    waiting: Vec<Waiting>,
    next_number: u64,
}

/// A caller that waits.
struct Waiting {
    number: u64,
    watch: Watch,
    /// True if the server has not answered yet for how long the keys live.
    is_asked: bool,
    /// True if a key has changed since the last question.
    is_outdated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracking {
    /// No caller has waited yet.
    Off,
    On,
    /// The connection has no push messages, or the server refuses to send any.
    Impossible,
}

/// The keys that a message of the server names; `None` for all keys.
pub(super) fn changed(message: &PushInfo) -> Vec<Option<Arc<[u8]>>> {
    if message.kind != PushKind::Invalidate {
        return Vec::new();
    }
    let key = |key: &Theirs| match key {
        Theirs::BulkString(key) => Some(Some(Arc::from(&**key))),
        _ => None,
    };
    match &message.data[..] {
        [Theirs::Array(keys)] => keys.iter().filter_map(key).collect(),
        // After FLUSHALL and FLUSHDB.
        _ => vec![None],
    }
}

impl Wakeups {
    pub(super) fn new(is_closed: Option<Arc<AtomicBool>>) -> Self {
        let tracking = match is_closed {
            Some(_) => Tracking::Off,
            None => Tracking::Impossible,
        };
        Self {
            is_closed,
            tracking,
            waiting: Vec::new(),
            next_number: 0,
        }
    }

    /// Forgets all, and returns the watches.
    pub(super) fn forget(&mut self) -> Vec<Watch> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().map(|waiting| waiting.watch).collect()
    }

    /// Takes the callers that wait since the last look, and the server's messages.
    pub(super) fn follow(&mut self, line: &mut Line) -> Result<(), NodeError> {
        let is_closed = self.is_closed.as_ref();
        if is_closed.is_some_and(|it| it.load(Ordering::Acquire)) {
            return Err(lost(CLOSED));
        }
        let Some((watches, changed)) = line.inbox.take_news() else {
            return Ok(());
        };
        if self.tracking == Tracking::Impossible {
            // The drop of the watches says that nothing is known.
            return Ok(());
        }
        if !watches.is_empty() && self.tracking == Tracking::Off {
            self.tracking = Tracking::On;
            let client = ::redis::cmd("CLIENT");
            let tracking = client.clone().arg("TRACKING").arg("ON").arg("OPTIN").take();
            line.ask(tracking, Purpose::Tracking);
            // Shows whether the ACL allows what goes ahead of each question.
            let caching = client.clone().arg("CACHING").arg("YES").take();
            line.ask(caching, Purpose::Tracking);
        }
        self.waiting.retain(|waiting| waiting.watch.is_wanted());
        for watch in watches {
            // Also if its keys are known: a state from before the caller's refusal tells the caller nothing.
            let mut waiting = Waiting {
                number: self.next_number,
                watch,
                is_asked: false,
                is_outdated: false,
            };
            self.next_number += 1;
            waiting.ask(line);
            self.waiting.push(waiting);
        }
        for key in changed {
            for waiting in &mut self.waiting {
                if key.as_ref().is_none_or(|key| waiting.waits_for(key)) {
                    waiting.ask(line);
                }
            }
        }
        Ok(())
    }

    /// The answer whether the server sends messages.
    pub(super) fn tracks(&mut self, value: &Value, line: &Line) {
        let Value::Error(text) = value else {
            return;
        };
        if std::mem::replace(&mut self.tracking, Tracking::Impossible) != Tracking::Impossible {
            let reason = NodeError::server(text).to_string();
            log_node!(
                line.inbox.log,
                WARN,
                "node does not tell of released locks; waiting for one takes up to a retry delay longer",
                reason
            );
        }
        // The drop of the watches says that nothing is known.
        drop(self.forget());
    }

    /// The answer how long the keys of a watch live.
    pub(super) fn answered(&mut self, number: u64, value: &Value, line: &mut Line) {
        let mut all = self.waiting.iter_mut();
        let Some(waiting) = all.find(|waiting| waiting.number == number) else {
            return;
        };
        waiting.watch.report(report(value));
        waiting.is_asked = false;
        if std::mem::take(&mut waiting.is_outdated) {
            waiting.ask(line);
        }
    }
}

impl Waiting {
    fn waits_for(&self, key: &[u8]) -> bool {
        self.watch.keys().names().any(|it| it == key)
    }

    /// Asks how long the keys live. The server sends one message about a key, and no other until it is asked again.
    fn ask(&mut self, line: &mut Line) {
        if std::mem::replace(&mut self.is_asked, true) {
            // The answer may be older than the message.
            self.is_outdated = true;
            return;
        }
        let mut question = Pipeline::new();
        for key in self.watch.keys().names() {
            question.cmd("CLIENT").arg("CACHING").arg("YES");
            question.cmd("PTTL").arg(key);
        }
        line.ask_all(question, Purpose::Keys(self.number));
    }
}

/// What the server's answers say of a caller's keys: they are free if none exists, or held for as long as the last one.
fn report(value: &Value) -> KeyReport {
    let Value::List(answers) = value else {
        return KeyReport::Unknown;
    };
    let mut last = KeyReport::Free;
    // Each `PTTL` follows a `CLIENT CACHING`.
    for answer in answers.iter().skip(1).step_by(2) {
        last = match (answer, last) {
            (Value::Int(-2), _) => last,
            (Value::Int(-1), _) | (Value::Int(_), KeyReport::Held(Remaining::Never)) => {
                KeyReport::Held(Remaining::Never)
            }
            (Value::Int(left), _) => {
                // The server counts in whole milliseconds, and deletes the key when the last one is over.
                let left = Duration::from_millis(left.unsigned_abs().saturating_add(1));
                KeyReport::Held(Remaining::Expires(match last {
                    KeyReport::Held(Remaining::Expires(before)) => before.max(left),
                    _ => left,
                }))
            }
            // The user may not read this key, or the server is loading its data.
            _ => return KeyReport::Unknown,
        };
    }
    last
}
