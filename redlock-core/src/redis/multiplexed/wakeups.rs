//! What the server tells of keys for which callers wait.
//!
//! The server tells on the connection of the node, by push messages of RESP3, and only of the keys that it was asked
//! about (`CLIENT TRACKING ON OPTIN`). Without `NOLOOP`, it also tells of what this process changed: other callers of
//! this process wait too. A message only says that a key changed, so the server is asked what became of it, and with the
//! answer it remembers the key again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::redis::{PushInfo, PushKind, Value as Theirs, pipe};
use tokio::time::Instant;

use crate::env::Clock;
use crate::env::caught::log;
use crate::node::watch::Watch;
use crate::node::{NodeError, Value};
use crate::redis::connection::errors::{CLOSED, lost};
use crate::redis::tracking::keys::{Seen, TrackedKeys};

use super::actor::{Actor, Purpose};
use super::command::words;

/// When a key is asked for again that the server answered with an error, or that it named without a reason: a server
/// whose table of keys is too small forgets one for another.
const ASKS_AGAIN: Duration = Duration::from_millis(250);

/// The limit of `watch_idle`, so that no sum of times overflows.
const LONGEST_IDLE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The wake-ups of one connection.
pub(super) struct Wakeups {
    tracked: TrackedKeys,
    /// Without push messages, only the next call finds that the connection is closed.
    is_closed: Option<Arc<AtomicBool>>,
    state: Tracking,
    /// When keys are asked for again, if there are any.
    pub(super) again_at: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracking {
    /// No caller has waited yet.
    Off,
    On,
    /// The server refuses to tell. It is asked again then.
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
    pub(super) fn new(clock: Arc<dyn Clock>, is_closed: Option<Arc<AtomicBool>>) -> Self {
        let has_messages = is_closed.is_some();
        Self {
            is_closed,
            tracked: TrackedKeys::new(clock),
            state: if has_messages {
                Tracking::Off
            } else {
                Tracking::Impossible
            },
            again_at: None,
        }
    }

    /// The connection is gone. Returns the callers that wait.
    pub(super) fn forget(&mut self) -> Vec<Watch> {
        self.tracked.clear()
    }
}

impl Actor {
    /// Takes the callers that wait since the last look, and the server's messages.
    pub(super) fn follow(&mut self) -> Result<(), NodeError> {
        let Some((watches, changed)) = self.inbox.take_news() else {
            return Ok(());
        };
        let is_closed = self.wakeups.is_closed.as_ref();
        if is_closed.is_some_and(|it| it.load(Ordering::Acquire)) {
            return Err(lost(CLOSED));
        }
        let now = self.inbox.time.now();
        match self.wakeups.state {
            Tracking::Refused(until) if now >= until => self.wakeups.state = Tracking::Off,
            // The drop says that nothing is known.
            Tracking::Impossible | Tracking::Refused(_) => return Ok(()),
            Tracking::Off | Tracking::On => {}
        }
        for watch in watches {
            self.wakeups.tracked.add(watch);
        }
        for key in changed {
            match key {
                Some(key) => self.wakeups.tracked.changed(&key),
                None => self.wakeups.tracked.all_changed(),
            }
        }
        self.look(now);
        Ok(())
    }

    /// Asks for the keys again that were put off.
    pub(super) fn look_again(&mut self, now: Instant) {
        self.wakeups.again_at = None;
        self.wakeups.tracked.ask_again();
        self.look(now);
    }

    /// Sends the questions that are due.
    fn look(&mut self, now: Instant) {
        for key in self.wakeups.tracked.take_questions() {
            if self.wakeups.state == Tracking::Off {
                self.wakeups.state = Tracking::On;
                let begin = [b"CLIENT".as_slice(), b"TRACKING", b"ON", b"OPTIN"];
                self.send(words(begin.into_iter()), now, Purpose::Tracking);
                // Shows whether the ACL allows what goes ahead of each question.
                let caching = [b"CLIENT".as_slice(), b"CACHING", b"YES"];
                self.send(words(caching.into_iter()), now, Purpose::Tracking);
            }
            let mut question = pipe();
            question.cmd("CLIENT").arg("CACHING").arg("YES");
            question.cmd("PTTL").arg(&*key);
            self.send_all(question, now, Purpose::Look(key));
        }
        if self.wakeups.tracked.is_any_put_off() && self.wakeups.again_at.is_none() {
            let at = now + ASKS_AGAIN;
            self.wakeups.again_at = Some(at);
            self.watch_by(at);
        }
    }

    /// The answer whether the server tells of keys.
    pub(super) fn tracks(&mut self, value: &Value) {
        let Value::Error(text) = value else {
            return;
        };
        let idle = self.options.watch_idle.min(LONGEST_IDLE);
        self.wakeups.state = Tracking::Refused(self.heard + idle);
        // The drop says that nothing is known.
        drop(self.wakeups.forget());
        let reason = NodeError::server(text).to_string();
        log!(
            warn,
            pool = %self.inbox.log.pool, reason,
            "node does not tell of released locks; waiting for one takes up to a retry delay longer",
        );
    }

    /// The answer how long a key lives.
    pub(super) fn seen(&mut self, key: Arc<[u8]>, value: &Value) {
        let tracked = &mut self.wakeups.tracked;
        match value {
            Value::Int(-2) => tracked.answered(&key, Seen::Gone),
            Value::Int(-1) => tracked.answered(&key, Seen::Stays),
            Value::Int(left) => {
                let until = tracked.until(Duration::from_millis(left.unsigned_abs()));
                tracked.answered(&key, until);
            }
            // The user may not read this key, or the server is loading its data.
            _ => tracked.refused(key),
        }
        self.look(self.heard);
    }
}
