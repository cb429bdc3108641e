//! What the server says of keys for which callers wait.
//!
//! The server sends push messages of RESP3 on the connection of the node, only about the keys that it was asked about
//! (`CLIENT TRACKING ON OPTIN`). Without `NOLOOP`, it also sends them for what this process changed: other callers of
//! this process wait too. A message only says that a key changed, so the server is asked what became of the key, and
//! with the answer it remembers the key again. It sends one message about a key, and no other until it is asked again,
//! so there are never more questions than messages and callers.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::redis::{Pipeline, PushInfo, PushKind, Value as Theirs};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::node::log::log_node;
use crate::node::watch::{KeyReport, Watch};
use crate::node::{NodeError, Remaining, Value};
use crate::redis::errors::{CLOSED, lost};

use super::line::{Line, Purpose};

/// The push messages of one connection.
pub(in crate::redis) struct Wakeups {
    /// `None` if the server knows no RESP3. Then the next call finds that the connection is closed.
    messages: Option<UnboundedReceiver<PushInfo>>,
    /// True if the server sends no messages about keys.
    is_impossible: bool,
    pub(super) waiting: Vec<Arc<Watch>>,
}

impl Wakeups {
    pub(super) fn new(messages: Option<UnboundedReceiver<PushInfo>>) -> Self {
        Self {
            is_impossible: messages.is_none(),
            messages,
            waiting: Vec::new(),
        }
    }

    /// Takes the server's messages. An error: the connection is closed.
    pub(super) fn follow(
        &mut self,
        context: &mut Context<'_>,
        line: &mut Line,
    ) -> Result<(), NodeError> {
        let Some(messages) = &mut self.messages else {
            return Ok(());
        };
        while let Poll::Ready(message) = messages.poll_recv(context) {
            match message {
                Some(message) if message.kind == PushKind::Invalidate => {
                    self.waiting.retain(|it| it.is_wanted());
                    for watch in self.waiting.iter().filter(|it| concerns(&message, it)) {
                        ask(watch, line);
                    }
                }
                Some(message) if message.kind != PushKind::Disconnection => {}
                _ => return Err(lost(CLOSED)),
            }
        }
        Ok(())
    }

    /// Takes callers that begin to wait.
    pub(super) fn add(&mut self, watches: &mut Vec<Arc<Watch>>, line: &mut Line) {
        if self.is_impossible {
            // The drop of the watches says that nothing is known.
            return watches.clear();
        }
        self.waiting.retain(|it| it.is_wanted());
        // Also if the keys are known: a state from before the caller's refusal tells the caller nothing.
        for watch in watches.iter() {
            ask(watch, line);
        }
        self.waiting.append(watches);
    }

    /// The server's answers to the question how long the keys of `watch` live.
    pub(super) fn answered(&mut self, watch: &Watch, value: &Value, line: &Line) {
        let Value::List(answers) = value else {
            return;
        };
        let refusal = answers.iter().take(2).find_map(|answer| match answer {
            Value::Error(text) => Some(NodeError::server(text).to_string()),
            _ => None,
        });
        if self.is_impossible {
            // Without messages, a caller does not learn what happens to the keys.
        } else if let Some(reason) = refusal {
            log_node!(
                line.inbox.log,
                WARN,
                "node does not tell of released locks; waiting for one takes up to a retry delay longer",
                reason
            );
            self.is_impossible = true;
            // The drop of the watches says that nothing is known.
            self.waiting.clear();
        } else {
            watch.report(report(answers.iter().skip(2).step_by(2)));
        }
    }
}

/// True if a message names a key of `watch`.
fn concerns(message: &PushInfo, watch: &Watch) -> bool {
    let [Theirs::Array(keys)] = &message.data[..] else {
        // After FLUSHALL and FLUSHDB.
        return true;
    };
    let is_named = |name| {
        keys.iter()
            .any(|key| matches!(key, Theirs::BulkString(key) if key == name))
    };
    watch.keys().names().any(is_named)
}

/// Asks how long the keys live. What the connection needs for messages goes ahead each time: it costs a server nothing.
fn ask(watch: &Arc<Watch>, line: &mut Line) {
    let mut question = Pipeline::new();
    question.cmd("CLIENT").arg(&["TRACKING", "ON", "OPTIN"]);
    for key in watch.keys().names() {
        question.cmd("CLIENT").arg(&["CACHING", "YES"]);
        question.cmd("PTTL").arg(key);
    }
    line.ask_all(question, Purpose::Keys(Arc::clone(watch)));
}

/// What the answers to `PTTL` say of a caller's keys: they are free if none exists, or held for as long as the last one.
fn report<'a>(answers: impl Iterator<Item = &'a Value>) -> KeyReport {
    let mut longest = None;
    for answer in answers {
        longest = longest.max(match answer {
            Value::Int(-2) => None,
            Value::Int(-1) => Some(Duration::MAX),
            // The server counts in whole milliseconds, and deletes the key when the last one is over.
            Value::Int(left) => Some(Duration::from_millis(left.unsigned_abs().saturating_add(1))),
            // The user may not read this key, or the server is loading its data.
            _ => return KeyReport::Unknown,
        });
    }
    match longest {
        None => KeyReport::Free,
        Some(Duration::MAX) => KeyReport::Held(Remaining::Never),
        Some(left) => KeyReport::Held(Remaining::Expires(left)),
    }
}
