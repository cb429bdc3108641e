//! What the server says of keys for which callers wait.
//!
//! The server sends push messages of RESP3 on the connection of the node, only about the keys that it was asked about
//! (`CLIENT TRACKING ON OPTIN`). Without `NOLOOP`, it also sends them for what this process changed: other callers of
//! this process wait too. A message only says that a key changed, so the server is asked what became of the key, and
//! with the answer it remembers the key again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::redis::{Pipeline, PushInfo, PushKind, Value as Theirs};
use tokio::time::Instant;

use crate::env::caught::log;
use crate::node::watch::{KeyReport, Watch};
use crate::node::{NodeError, Remaining, Value};
use crate::redis::errors::{CLOSED, lost};

use super::line::{Line, Purpose};

/// The pause before a question that the server answered with an error, or with what was known: a server whose table
/// of keys is too small forgets an old key for each new one.
const ASKS_AGAIN: Duration = Duration::from_millis(250);

/// Two expiries that differ by less than this count as equal.
const SAME: Duration = Duration::from_millis(20);

/// An expiry that is too far away for this host's clock counts as this.
const FAR_AWAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Below this number of watches, the watches without a waiting caller are not looked for.
const SWEEP_AT: usize = 64;

/// The wake-ups of one connection.
pub(in crate::redis) struct Wakeups {
    /// Without push messages, only the next call finds that the connection is closed.
    is_closed: Option<Arc<AtomicBool>>,
    tracking: Tracking,
    is_refusal_logged: bool,
    /// By the numbers of the watches.
    waiting: BTreeMap<u64, Waiting>,
    /// The numbers of the watches of each key.
    by_key: HashMap<Arc<[u8]>, Vec<u64>>,
    next_number: u64,
    sweep_at: usize,
    /// When the watches that were put off are asked for, if there are any.
    pub(super) again_at: Option<Instant>,
}

/// A caller that waits.
struct Waiting {
    watch: Watch,
    seen: Seen,
    question: Question,
    /// True if the last answer said what was known before.
    is_unchanged: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Answered,
    Asked,
    /// A key has changed since.
    Outdated,
    PutOff,
}

/// The last answer about the keys of a caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Unknown,
    Free,
    Until(Instant),
    /// A key has no expiry.
    Stays,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracking {
    /// No caller has waited yet.
    Off,
    On,
    /// The server refuses to send messages. It is asked again at this moment.
    Refused(Instant),
    /// The connection has no push messages.
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
            is_refusal_logged: false,
            waiting: BTreeMap::new(),
            by_key: HashMap::new(),
            next_number: 0,
            sweep_at: SWEEP_AT,
            again_at: None,
        }
    }

    /// Forgets all, and returns the watches.
    pub(super) fn forget(&mut self) -> Vec<Watch> {
        self.by_key.clear();
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().map(|waiting| waiting.watch).collect()
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
        match self.tracking {
            Tracking::Refused(until) if line.now() >= until => self.tracking = Tracking::Off,
            // The drop of the watches says that nothing is known.
            Tracking::Impossible | Tracking::Refused(_) => return Ok(()),
            Tracking::Off | Tracking::On => {}
        }
        for watch in watches {
            self.add(watch, line);
        }
        for key in changed {
            let numbers = match key {
                Some(key) => self.by_key.get(&key).cloned().unwrap_or_default(),
                None => self.waiting.keys().copied().collect(),
            };
            for number in numbers {
                self.changed(number, line);
            }
        }
        Ok(())
    }

    /// Adds a watch, and asks about its keys even if they are known: a state from before the caller's refusal tells the
    /// caller nothing.
    fn add(&mut self, watch: Watch, line: &mut Line) {
        if self.waiting.len() >= self.sweep_at {
            self.sweep();
        }
        if self.tracking == Tracking::Off {
            self.tracking = Tracking::On;
            let client = ::redis::cmd("CLIENT");
            let tracking = client.clone().arg("TRACKING").arg("ON").arg("OPTIN").take();
            line.ask(tracking, Purpose::Tracking);
            // Shows whether the ACL allows what goes ahead of each question.
            let caching = client.clone().arg("CACHING").arg("YES").take();
            line.ask(caching, Purpose::Tracking);
        }
        let number = self.next_number;
        self.next_number += 1;
        for key in watch.keys().shared_names() {
            self.by_key.entry(Arc::clone(key)).or_default().push(number);
        }
        self.waiting.insert(
            number,
            Waiting {
                watch,
                seen: Seen::Unknown,
                question: Question::Answered,
                is_unchanged: false,
            },
        );
        self.ask(number, line);
    }

    fn sweep(&mut self) {
        self.waiting.retain(|_, waiting| waiting.watch.is_wanted());
        let waiting = &self.waiting;
        self.by_key.retain(|_, numbers| {
            numbers.retain(|number| waiting.contains_key(number));
            !numbers.is_empty()
        });
        self.sweep_at = SWEEP_AT.max(self.waiting.len() * 2);
    }

    /// Asks how long the keys of a watch live.
    fn ask(&mut self, number: u64, line: &mut Line) {
        let Some(waiting) = self.waiting.get_mut(&number) else {
            return;
        };
        waiting.question = Question::Asked;
        let mut question = Pipeline::new();
        for key in waiting.watch.keys().names() {
            question.cmd("CLIENT").arg("CACHING").arg("YES");
            question.cmd("PTTL").arg(key);
        }
        line.ask_all(question, Purpose::Keys(number));
    }

    /// A key of a watch has changed. The server sends no other message about the key until it is asked.
    fn changed(&mut self, number: u64, line: &mut Line) {
        let Some(waiting) = self.waiting.get_mut(&number) else {
            return;
        };
        if !waiting.watch.is_wanted() {
            self.forget_one(number);
        } else if matches!(waiting.question, Question::Asked | Question::Outdated) {
            // The answer may be older than the message.
            waiting.question = Question::Outdated;
        } else if std::mem::take(&mut waiting.is_unchanged) {
            self.put_off(number, line);
        } else {
            self.ask(number, line);
        }
    }

    fn forget_one(&mut self, number: u64) {
        let Some(waiting) = self.waiting.remove(&number) else {
            return;
        };
        for key in waiting.watch.keys().names() {
            if let Some(numbers) = self.by_key.get_mut(key) {
                numbers.retain(|other| *other != number);
                if numbers.is_empty() {
                    self.by_key.remove(key);
                }
            }
        }
    }

    fn put_off(&mut self, number: u64, line: &mut Line) {
        if let Some(waiting) = self.waiting.get_mut(&number) {
            waiting.question = Question::PutOff;
        }
        if self.again_at.is_none() {
            let at = line.now() + ASKS_AGAIN;
            self.again_at = Some(at);
            line.watch_by(at);
        }
    }

    /// Asks for the keys that were put off.
    pub(super) fn ask_again(&mut self, line: &mut Line) {
        self.again_at = None;
        let is_put_off = |waiting: &Waiting| waiting.question == Question::PutOff;
        let put_off = self.waiting.iter().filter(|(_, it)| is_put_off(it));
        let numbers: Vec<_> = put_off.map(|(number, _)| *number).collect();
        for number in numbers {
            self.changed(number, line);
        }
    }

    /// The answer whether the server sends messages.
    pub(super) fn tracks(&mut self, value: &Value, line: &Line) {
        let Value::Error(text) = value else {
            return;
        };
        if matches!(self.tracking, Tracking::Refused(_)) {
            return;
        }
        self.tracking = Tracking::Refused(line.heard + line.options.heartbeat);
        // The drop of the watches says that nothing is known.
        drop(self.forget());
        if !std::mem::replace(&mut self.is_refusal_logged, true) {
            let reason = NodeError::server(text).to_string();
            log!(
                warn,
                pool = %line.inbox.log.pool, reason,
                "node does not tell of released locks; waiting for one takes up to a retry delay longer",
            );
        }
    }

    /// The answer how long the keys of a watch live.
    pub(super) fn answered(&mut self, number: u64, value: &Value, line: &mut Line) {
        let Some(waiting) = self.waiting.get_mut(&number) else {
            return;
        };
        let asked = std::mem::replace(&mut waiting.question, Question::Answered);
        let seen = seen(value, line.heard);
        waiting.is_unchanged = seen.is_like(waiting.seen);
        waiting.seen = seen;
        waiting.watch.report(match seen {
            Seen::Unknown => KeyReport::Unknown,
            Seen::Free => KeyReport::Free,
            Seen::Until(until) => {
                let left = until.saturating_duration_since(line.heard);
                KeyReport::Held(Remaining::Expires(left))
            }
            Seen::Stays => KeyReport::Held(Remaining::Never),
        });
        if seen == Seen::Unknown {
            self.put_off(number, line);
        } else if asked == Question::Outdated {
            self.changed(number, line);
        }
    }
}

impl Seen {
    fn is_like(self, before: Self) -> bool {
        match (self, before) {
            (Self::Until(one), Self::Until(other)) => one.max(other) - one.min(other) < SAME,
            _ => self == before,
        }
    }
}

/// What the server's answers say of a caller's keys: they are free if none exists, or held for as long as the last one.
fn seen(value: &Value, now: Instant) -> Seen {
    let Value::List(answers) = value else {
        return Seen::Unknown;
    };
    let mut last = Seen::Free;
    // Each `PTTL` follows a `CLIENT CACHING`.
    for answer in answers.iter().skip(1).step_by(2) {
        last = match (answer, last) {
            (Value::Int(-2), _) => last,
            (Value::Int(-1), _) | (Value::Int(_), Seen::Stays) => Seen::Stays,
            (Value::Int(left), _) => {
                // The server counts in whole milliseconds, and deletes the key when the last one is over.
                let left = Duration::from_millis(left.unsigned_abs().saturating_add(1));
                let until = now.checked_add(left).unwrap_or(now + FAR_AWAY);
                match last {
                    Seen::Until(before) => Seen::Until(before.max(until)),
                    _ => Seen::Until(until),
                }
            }
            // The user may not read this key, or the server is loading its data.
            _ => return Seen::Unknown,
        };
    }
    last
}
