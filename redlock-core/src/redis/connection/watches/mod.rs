//! Watches of one connection: callers wait for keys, and the server reports changes of these keys.
//!
//! The server sends RESP3 push messages on the node's connection, only about keys that a question named (`CLIENT
//! TRACKING ON OPTIN`). `NOLOOP` is left out: other callers of this process wait too, so the server also has to report
//! what this process changed. A message only says that a key changed, so the connection asks for the new state of the
//! key. From its answer on, the server watches the key again. After one message about a key, the server stays silent
//! until the next question about it.
//!
//! **The connection asks only about keys that changed.** An answer stays valid from one refusal to the next, until a
//! message about the key comes. Otherwise a caller that waits for one of 256 permits would ask about all after each
//! attempt.
//!
//! **A caller gets an immediate report only of a key that is held.** The key may have come free since. Then a message
//! is under way, and a second report follows. A report that a key is free could be older than the caller's refusal, and
//! the caller would be refused again and again. So a free key needs a new question, after the attempt on the same
//! connection. Answers to earlier questions are ignored.
//!
//! A server with a small table of keys drops one key for another, and reports each drop as a change. So if a message
//! was about no change, the next question about the key waits for a pause. The pause begins short and grows up to 250
//! ms, because real changes look similar: a reader that leaves a shared lock changes only the end, and only a little.

#[cfg(test)]
mod tests;
mod watched_key;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::redis::{Pipeline, PushInfo, PushKind, Value as Theirs};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use crate::logging::log_node;
use crate::model::token::LONGEST_TOKEN;
use crate::node::watch::{HeldValue, KeyReport, Watch};
use crate::node::{NodeError, Value};
use crate::redis::errors::{CLOSED, lost};

use super::pipeline::{CommandPipeline, Purpose};
use watched_key::{KeyEnd, WatchedKey};

/// The number of keys up to which keys without callers are kept.
const MANY_KEYS: usize = 1024;

/// The largest number of keys in one question. The server answers calls of callers only after the question.
const MOST_ASKED: usize = 256;

/// The name of a key, with the configured prefix.
type KeyName = Arc<[u8]>;

/// The push messages of one connection, and the last known state of the keys.
pub(in crate::redis) struct Watches {
    /// The push messages. `None` if the server lacks RESP3: then the next call finds out that the connection is closed.
    messages: Option<UnboundedReceiver<PushInfo>>,
    /// True if the server sends no messages about keys: it is unable to, or the user lacks the right to ask for them.
    is_impossible: bool,
    /// True if the user lacks the right to read values. Then only the ends of the keys show a change.
    is_valueless: bool,
    keys: HashMap<KeyName, WatchedKey>,
    /// The keys about which the connection has to ask because of a message.
    due: Vec<KeyName>,
    /// The number of keys above which `add` next removes keys without callers.
    many: usize,
}

impl Watches {
    pub(super) fn new(messages: Option<UnboundedReceiver<PushInfo>>) -> Self {
        Self {
            is_impossible: messages.is_none(),
            is_valueless: false,
            messages,
            keys: HashMap::new(),
            due: Vec::new(),
            many: MANY_KEYS,
        }
    }

    /// True if the server sends no messages about keys.
    pub(super) fn are_impossible(&self) -> bool {
        self.is_impossible
    }

    /// Handles the messages of the server. Returns an error if the connection is closed.
    pub(super) fn take_messages(
        &mut self,
        context: &mut Context<'_>,
        pipe: &mut CommandPipeline,
    ) -> Result<(), NodeError> {
        if self.keys.is_empty() && !pipe.is_empty() {
            // Skip the messages while no caller waits. The next answer shows whether the connection is closed.
            return Ok(());
        }
        while let Poll::Ready(message) = self.poll_message(context) {
            match message {
                Some(message) if message.kind == PushKind::Invalidate => self.set_due(&message),
                Some(message) if message.kind != PushKind::Disconnection => {}
                _ => return Err(lost(CLOSED)),
            }
        }
        self.ask_due(pipe);
        Ok(())
    }

    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<PushInfo>> {
        match &mut self.messages {
            Some(messages) => messages.poll_recv(context),
            None => Poll::Pending,
        }
    }

    /// Marks the keys of a message as changed.
    fn set_due(&mut self, message: &PushInfo) {
        if let [Theirs::Array(names)] = &message.data[..] {
            for name in names {
                if let Theirs::BulkString(name) = name
                    && let Some((name, key)) = self.keys.remove_entry(&name[..])
                {
                    self.keep_changed(name, key);
                }
            }
        } else {
            // `FLUSHALL` and `FLUSHDB` send a message without names.
            for (name, key) in std::mem::take(&mut self.keys) {
                self.keep_changed(name, key);
            }
        }
    }

    /// Keeps a key that has changed, if a caller waits for it.
    fn keep_changed(&mut self, name: KeyName, mut key: WatchedKey) {
        if key.is_wanted() {
            if key.set_due() {
                self.due.push(Arc::clone(&name));
            }
            self.keys.insert(name, key);
        }
    }

    /// Adds callers that begin to wait.
    pub(super) fn add(&mut self, watches: &mut Vec<Arc<Watch>>, pipe: &mut CommandPipeline) {
        if self.is_impossible {
            // Each dropped watch reports its keys as unknown.
            return watches.clear();
        }
        let (now, mut unknown) = (pipe.now(), Vec::new());
        for watch in watches.drain(..) {
            for name in watch.keys().shared_names() {
                let key = self.keys.entry(Arc::clone(name));
                let key = key.or_insert_with(|| WatchedKey::new(now));
                key.add(&watch, now);
                if !key.is_known_held(now) && key.set_asked(now) {
                    unknown.push(Arc::clone(name));
                }
            }
            self.report(&watch, now);
        }
        self.ask(&unknown, pipe);
        if self.keys.len() > self.many {
            self.keys.retain(|_, key| key.is_wanted());
            self.many = MANY_KEYS.max(self.keys.len() * 2);
        }
    }

    /// Asks about the keys that messages named. Sets the alarm for keys whose pause has yet to end.
    pub(super) fn ask_due(&mut self, pipe: &mut CommandPipeline) {
        if self.due.is_empty() {
            return;
        }
        let (now, mut names) = (pipe.now(), Vec::new());
        self.due.retain(|name| {
            let key = self.keys.get_mut(name).filter(|key| key.is_due());
            let Some(key) = key else { return false };
            let must_wait = key.asks_from > now;
            if must_wait {
                pipe.ring_by(key.asks_from);
            } else if key.set_asked(now) {
                names.push(Arc::clone(name));
            }
            must_wait
        });
        self.ask(&names, pipe);
    }

    /// Returns the moment of the next question that waits for the end of a pause.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let due = self.due.iter().filter_map(|name| self.keys.get(name));
        due.map(|key| key.asks_from).min()
    }

    /// Asks for the remaining time and the value of each key. Each question begins with the command that turns messages
    /// on, because the command costs a server nothing.
    fn ask(&self, names: &[KeyName], pipe: &mut CommandPipeline) {
        for names in names.chunks(MOST_ASKED) {
            let mut question = Pipeline::new();
            question.cmd("CLIENT").arg(&["TRACKING", "ON", "OPTIN"]);
            for name in names {
                question.cmd("CLIENT").arg(&["CACHING", "YES"]);
                question.cmd("PTTL").arg(&**name);
                if !self.is_valueless {
                    let beginning = question.cmd("GETRANGE").arg(&**name);
                    beginning.arg(0).arg(LONGEST_TOKEN);
                }
            }
            pipe.send_commands(question, Purpose::Watch(names.to_vec()));
        }
    }

    /// Records the server's answers to a question about the keys `names`.
    pub(super) fn record_answer(
        &mut self,
        names: &[KeyName],
        value: &Value,
        pipe: &CommandPipeline,
    ) {
        // Ignore the answers if the server sends no messages. Callers would wait for messages in vain.
        let (Value::List(answers), false) = (value, self.is_impossible) else {
            return;
        };
        if let Some(reason) = refusal(answers) {
            log_node!(
                pipe.inbox.log,
                WARN,
                "node does not report released locks; waiting for a lock takes up to a retry delay longer",
                reason
            );
            self.is_impossible = true;
            self.due.clear();
            // Each dropped watch reports its keys as unknown.
            return self.keys.clear();
        }
        let answers = answers.get(1..).unwrap_or_default();
        let answers = answers.chunks((answers.len() / names.len().max(1)).max(1));
        let mut told = Vec::new();
        for (name, answers) in names.iter().zip(answers) {
            if let Some(key) = self.keys.get_mut(name)
                && key.record(answers, pipe.since, pipe.heard)
            {
                self.is_valueless |= key.end.is_some() && key.value.is_none();
                told.extend(key.watches.iter().map(Arc::clone));
            }
        }
        // Report once to a caller that waits for several of the keys.
        told.sort_unstable_by_key(Arc::as_ptr);
        told.dedup_by(|one, other| Arc::ptr_eq(one, other));
        for watch in told {
            self.report(&watch, pipe.heard);
        }
    }

    /// Reports the keys to a caller once the server has answered about all of them. The keys are free if none exists.
    /// Otherwise the keys are held until the last one ends.
    fn report(&self, watch: &Watch, now: Instant) {
        let names = watch.keys().names();
        let keys: Option<Vec<_>> = names.map(|name| self.keys.get(name)).collect();
        let Some(keys) = keys.filter(|keys| keys.iter().all(|key| key.is_answered())) else {
            return;
        };
        let ends: Option<Vec<_>> = keys.iter().map(|key| key.end).collect();
        let end = ends.and_then(|ends| ends.into_iter().max());
        let report = end.map_or(KeyReport::Unknown, |end| KeyEnd::report(end, now));
        let values: Option<Vec<_>> = keys.iter().map(|key| key.value).collect();
        watch.report_of(report, values.map(HeldValue::all));
    }

    /// Removes the watches of all callers, for the next connection.
    pub(super) fn take_all(&mut self) -> Vec<Arc<Watch>> {
        let mut watches = Vec::new();
        for (name, key) in std::mem::take(&mut self.keys) {
            // Take a watch of several keys with the first of them.
            let is_first = |watch: &Arc<Watch>| watch.keys().shared_names().first() == Some(&name);
            watches.extend(key.watches.into_iter().filter(is_first));
        }
        watches
    }
}

/// Returns the server's reason, if it refuses to send messages. `answers` begins with those to `CLIENT TRACKING` and
/// `CLIENT CACHING`.
///
/// A busy server refuses the question for a while only. The first error decides, because a busy Valkey runs the second
/// command, which fails without the first. All other errors are refusals, because each proxy has words of its own.
fn refusal(answers: &[Value]) -> Option<String> {
    let error = answers.iter().take(2).find_map(|answer| match answer {
        Value::Error(text) => Some(text),
        _ => None,
    })?;
    let is_temporary = error.starts_with(b"BUSY") || error.starts_with(b"LOADING");
    (!is_temporary).then(|| NodeError::server(error).to_string())
}
