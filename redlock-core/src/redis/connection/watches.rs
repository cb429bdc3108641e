//! Watches: the keys for which callers wait, and the messages of the server about them.
//!
//! The server sends push messages of RESP3 on the connection of the node, only about the keys that it was asked about
//! (`CLIENT TRACKING ON OPTIN`). Without `NOLOOP`, it also sends them for what this process changed: other callers of
//! this process wait too. A message only says that a key changed, so the server is asked what became of the key, and
//! with the answer it remembers the key again. It sends one message about a key, and no other until it is asked again.
//!
//! A server with a small table of keys forgets one key for another, and says each time that it changed. So if a message
//! was about no change, the next question waits for a pause. The pause begins short and grows up to [`LONGEST_QUESTION_PAUSE`],
//! because each reader that leaves a shared lock changes the key, but hardly its end, and not its value.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::redis::{Pipeline, PushInfo, PushKind, Value as Theirs};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use crate::logging::log_node;
use crate::model::token::LONGEST_TOKEN;
use crate::node::value::is_wrong_type;
use crate::node::watch::{HeldValue, KeyReport, Watch};
use crate::node::{NodeError, Remaining, Value};
use crate::redis::errors::{CLOSED, lost};

use super::pipeline::{CommandPipeline, Purpose};

/// The first pause, and the longest pause, between questions about a key that does not change.
const FIRST_QUESTION_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_QUESTION_PAUSE: Duration = Duration::from_millis(250);

/// If two answers name ends of a key that are this close, and the same value, the key did not change in between. Each
/// reader of a shared lock changes the end a little, and not the value.
const SAME_EXPIRY: Duration = Duration::from_millis(20);

/// The keys for which one caller waits.
pub(super) struct WatchedKeys {
    pub(super) watch: Arc<Watch>,
    /// When the keys expire, and what they hold, by the last answer.
    end: Option<Instant>,
    value: Option<HeldValue>,
    /// The moment from which on the server may be asked again.
    asks_from: Instant,
    /// The pause behind the next answer without a change.
    pause: Duration,
    /// True if a message came before that moment.
    is_due: bool,
}

/// The push messages of one connection.
pub(in crate::redis) struct Watches {
    /// `None` if the server knows no RESP3. Then the next call finds that the connection is closed.
    messages: Option<UnboundedReceiver<PushInfo>>,
    /// True if the server sends no messages about keys.
    is_impossible: bool,
    /// True if the user may not read the beginning of a value: then the ends alone show a change.
    is_valueless: bool,
    pub(super) watched: Vec<WatchedKeys>,
}

impl Watches {
    pub(super) fn new(messages: Option<UnboundedReceiver<PushInfo>>) -> Self {
        Self {
            is_impossible: messages.is_none(),
            is_valueless: false,
            messages,
            watched: Vec::new(),
        }
    }

    /// Takes the server's messages. An error: the connection is closed.
    pub(super) fn take_messages(
        &mut self,
        context: &mut Context<'_>,
        pipe: &mut CommandPipeline,
    ) -> Result<(), NodeError> {
        let Some(messages) = &mut self.messages else {
            return Ok(());
        };
        if self.watched.is_empty() && !pipe.is_empty() {
            // No caller waits for a message, and the next answer shows whether the connection is closed.
            return Ok(());
        }
        while let Poll::Ready(message) = messages.poll_recv(context) {
            match message {
                Some(message) if message.kind == PushKind::Invalidate => {
                    self.watched.retain(|it| it.watch.is_wanted());
                    let waiting = self.watched.iter_mut();
                    for it in waiting.filter(|it| concerns(&message, &it.watch)) {
                        it.is_due = true;
                    }
                }
                Some(message) if message.kind != PushKind::Disconnection => {}
                _ => return Err(lost(CLOSED)),
            }
        }
        self.ask_due(pipe);
        Ok(())
    }

    /// Takes callers that begin to wait.
    pub(super) fn add(&mut self, watches: &mut Vec<Arc<Watch>>, pipe: &mut CommandPipeline) {
        if self.is_impossible {
            // The drop of the watches says that nothing is known.
            return watches.clear();
        }
        self.watched.retain(|it| it.watch.is_wanted());
        // Also if the keys are known: a state from before the caller's refusal tells the caller nothing.
        for watch in watches.drain(..) {
            send_question(&watch, self.is_valueless, pipe);
            self.watched.push(WatchedKeys {
                watch,
                end: None,
                value: None,
                asks_from: pipe.heard,
                pause: FIRST_QUESTION_PAUSE,
                is_due: false,
            });
        }
    }

    /// Asks about keys that a message was about. The alarm fires for those that have to wait.
    pub(super) fn ask_due(&mut self, pipe: &mut CommandPipeline) {
        for it in self.watched.iter_mut().filter(|it| it.is_due) {
            if it.asks_from <= pipe.now() {
                it.is_due = false;
                send_question(&it.watch, self.is_valueless, pipe);
            } else {
                pipe.ring_by(it.asks_from);
            }
        }
    }

    /// The moment of the next question that has to wait.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let due = self.watched.iter().filter(|it| it.is_due);
        due.map(|it| it.asks_from).min()
    }

    /// The server's answers to the question how long the keys of `watch` live.
    pub(super) fn record_answer(
        &mut self,
        watch: &Arc<Watch>,
        value: &Value,
        pipe: &CommandPipeline,
    ) {
        // Without messages, a caller does not learn what happens to the keys.
        let (Value::List(answers), false) = (value, self.is_impossible) else {
            return;
        };
        // Another error passes, as that of a server that is busy.
        let denial = answers.iter().take(2).find_map(|answer| match answer {
            Value::Error(text) if text.starts_with(b"NOPERM") || text.starts_with(b"ERR") => {
                Some(NodeError::server(text).to_string())
            }
            _ => None,
        });
        if let Some(reason) = denial {
            log_node!(
                pipe.inbox.log,
                WARN,
                "node does not tell of released locks; waiting for one takes up to a retry delay longer",
                reason
            );
            self.is_impossible = true;
            // The drop of the watches says that nothing is known.
            return self.watched.clear();
        }
        let (report, value) = report(answers, watch.keys().names().len());
        self.is_valueless |= report != KeyReport::Unknown && value.is_none();
        let mut waiting = self.watched.iter_mut();
        if let Some(it) = waiting.find(|it| Arc::ptr_eq(&it.watch, watch)) {
            let end = match report {
                KeyReport::Held(Remaining::Expires(left)) => pipe.heard.checked_add(left),
                _ => None,
            };
            let ends = end.zip(it.end);
            let is_same_end = ends.is_some_and(|(a, b)| a.max(b) - a.min(b) < SAME_EXPIRY);
            let is_same = is_same_end || report == KeyReport::Held(Remaining::Never);
            if is_same && it.value == value {
                it.asks_from = pipe.heard + it.pause;
                it.pause = (it.pause + it.pause / 4).min(LONGEST_QUESTION_PAUSE);
            } else {
                it.pause = FIRST_QUESTION_PAUSE;
            }
            (it.end, it.value) = (end, value);
        }
        watch.report_of(report, value);
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

/// Asks how long the keys live, and what they hold. What the connection needs for messages goes ahead each time: it costs
/// a server nothing.
fn send_question(watch: &Arc<Watch>, is_valueless: bool, pipe: &mut CommandPipeline) {
    let mut question = Pipeline::new();
    question.cmd("CLIENT").arg(&["TRACKING", "ON", "OPTIN"]);
    for key in watch.keys().names() {
        question.cmd("CLIENT").arg(&["CACHING", "YES"]);
        question.cmd("PTTL").arg(key);
        if !is_valueless {
            question.cmd("GETRANGE").arg(key).arg(0).arg(LONGEST_TOKEN);
        }
    }
    pipe.send_commands(question, Purpose::Watch(Arc::clone(watch)));
}

/// Reads the answers about a caller's `keys`. They are free if none exists, or held for as long as the last one. Also
/// returns what they hold, if the server was asked and told it.
fn report(answers: &[Value], keys: usize) -> (KeyReport, Option<HeldValue>) {
    let (mut longest, mut values) = (None, Vec::new());
    let answers = answers.get(1..).unwrap_or_default();
    for answers in answers.chunks((answers.len() / keys).max(1)) {
        match answers.get(2) {
            Some(Value::Text(text)) => values.push(&**text),
            // A key that is no string.
            Some(Value::Error(text)) if is_wrong_type(text) => values.push(&[]),
            _ => {}
        }
        longest = longest.max(match answers.get(1).unwrap_or(&Value::Nil) {
            Value::Int(-2) => None,
            Value::Int(-1) => Some(Duration::MAX),
            // The server counts in whole milliseconds, and deletes the key when the last one is over.
            Value::Int(left) => Some(Duration::from_millis(left.unsigned_abs().saturating_add(1))),
            // The user may not read this key, or the server is loading its data.
            _ => return (KeyReport::Unknown, None),
        });
    }
    let report = match longest {
        None => KeyReport::Free,
        Some(Duration::MAX) => KeyReport::Held(Remaining::Never),
        Some(left) => KeyReport::Held(Remaining::Expires(left)),
    };
    let is_told = values.len() == keys;
    (report, is_told.then(|| HeldValue::of(values.into_iter())))
}
