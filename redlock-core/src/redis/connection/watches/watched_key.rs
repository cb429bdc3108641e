//! Watched keys: keys for which callers wait, each with the server's last answer about it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::node::value::is_wrong_type;
use crate::node::watch::{HeldValue, KeyReport, Watch};
use crate::node::{Remaining, Value};

/// Bounds of the pause between questions about a key that stays the same.
const FIRST_QUESTION_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_QUESTION_PAUSE: Duration = Duration::from_millis(250);

/// The tolerance for equal ends of a key. The key stayed the same if two answers have ends within it and equal values.
/// Each reader of a shared lock changes the end a little, but keeps the value.
const SAME_EXPIRY: Duration = Duration::from_millis(20);

/// The end of a key. A later end compares as greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyEnd {
    Gone,
    Expires(Instant),
    Never,
}

impl KeyEnd {
    /// Reads the answer to `PTTL`, which arrived at `heard`. Returns `None` for an error: the user lacks the right to
    /// read this key, or the server is loading its data.
    fn read(answer: &Value, heard: Instant) -> Option<Self> {
        match answer {
            Value::Int(-2) => Some(Self::Gone),
            Value::Int(-1) => Some(Self::Never),
            // Add 1 ms, because the server counts whole milliseconds and deletes the key at the end of the last one.
            Value::Int(left) => {
                let left = Duration::from_millis(left.unsigned_abs().saturating_add(1));
                Some(heard.checked_add(left).map_or(Self::Never, Self::Expires))
            }
            _ => None,
        }
    }

    /// Returns the report about the key at the moment `now`.
    pub(super) fn report(self, now: Instant) -> KeyReport {
        match self {
            Self::Gone => KeyReport::Free,
            Self::Expires(at) => {
                KeyReport::Held(Remaining::Expires(at.saturating_duration_since(now)))
            }
            Self::Never => KeyReport::Held(Remaining::Never),
        }
    }

    /// True if two answers give one and the same end of a key, so that the key has not changed between them.
    fn is_near(self, other: Self) -> bool {
        match (self, other) {
            (Self::Expires(one), Self::Expires(other)) => {
                one.max(other) - one.min(other) < SAME_EXPIRY
            }
            (one, other) => one == other && one == Self::Never,
        }
    }
}

/// A key with the server's last answer about it. After the answer, the server sends one message when the key changes.
pub(super) struct WatchedKey {
    pub(super) watches: Vec<Arc<Watch>>,
    /// The end of the key. `None` if it is unknown, or if the server will send no message about the key.
    pub(super) end: Option<KeyEnd>,
    pub(super) value: Option<HeldValue>,
    /// The moment of the last question. `None` once the answer has arrived.
    asked_at: Option<Instant>,
    /// True if a message arrived since the last question.
    is_due: bool,
    /// The earliest moment for the next question because of a message.
    pub(super) asks_from: Instant,
    /// The pause after the next answer that shows the key unchanged.
    pause: Duration,
}

impl WatchedKey {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            watches: Vec::new(),
            end: None,
            value: None,
            asked_at: None,
            is_due: false,
            asks_from: now,
            pause: FIRST_QUESTION_PAUSE,
        }
    }

    /// Adds a caller that begins to wait. The next question about the key needs no pause.
    pub(super) fn add(&mut self, watch: &Arc<Watch>, now: Instant) {
        self.watches.retain(|it| it.is_wanted());
        self.watches.push(Arc::clone(watch));
        (self.asks_from, self.pause) = (now, FIRST_QUESTION_PAUSE);
    }

    /// True if a caller still waits for the key. Forgets the callers that have left.
    pub(super) fn is_wanted(&mut self) -> bool {
        self.watches.retain(|it| it.is_wanted());
        !self.watches.is_empty()
    }

    /// True if the last answer says that the key is held now, and no message was read since.
    pub(super) fn is_known_held(&self, now: Instant) -> bool {
        self.is_answered() && !self.is_due && self.end > Some(KeyEnd::Expires(now))
    }

    /// True if the server has answered the last question about the key.
    pub(super) fn is_answered(&self) -> bool {
        self.asked_at.is_none()
    }

    /// Marks the key as changed. Returns true if the mark is new.
    pub(super) fn set_due(&mut self) -> bool {
        !std::mem::replace(&mut self.is_due, true)
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Marks the key as asked about `now`. Returns false if the same question already names the key.
    pub(super) fn set_asked(&mut self, now: Instant) -> bool {
        self.is_due = false;
        self.asked_at.replace(now) != Some(now)
    }

    /// Records the answers to `CLIENT CACHING`, `PTTL` and `GETRANGE`. They were sent at `sent` and arrived at `heard`.
    /// Returns false if they are older than the last question.
    pub(super) fn record(&mut self, answers: &[Value], sent: Instant, heard: Instant) -> bool {
        if self.asked_at.take_if(|at| *at <= sent).is_none() {
            return false;
        }
        let (end, value) = match answers {
            // Treat the key as unknown, because no message would follow this answer.
            [Value::Error(_), ..] => (None, None),
            [_, left, value @ ..] => (KeyEnd::read(left, heard), read_value(value.first())),
            _ => (None, None),
        };
        let ends = self.end.zip(end);
        if ends.is_some_and(|(one, other)| one.is_near(other)) && self.value == value {
            self.asks_from = heard + self.pause;
            self.pause = (self.pause + self.pause / 4).min(LONGEST_QUESTION_PAUSE);
        } else {
            self.pause = FIRST_QUESTION_PAUSE;
        }
        (self.end, self.value) = (end, value);
        true
    }
}

/// Reads the answer to `GETRANGE`. Returns `None` if the user lacks the right to run it.
fn read_value(answer: Option<&Value>) -> Option<HeldValue> {
    match answer? {
        Value::Text(text) => Some(HeldValue::of(text)),
        // The key holds another type than a string.
        Value::Error(text) if is_wrong_type(text) => Some(HeldValue::of(&[])),
        _ => None,
    }
}
