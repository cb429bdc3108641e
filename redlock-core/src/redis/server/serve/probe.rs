//! Asks a server that answers with errors whether it would vote again.

use std::time::Duration;

use tokio::time::Instant;

use crate::node::log::log_node;
use crate::node::{Answer, NodeError};
use crate::node::{Call, Effect};
use crate::redis::protocol::wire::{Value, pack};

use super::{Purpose, Serve};

/// The interval of the probes while a server refuses.
const EVERY: Duration = Duration::from_secs(1);

impl Serve {
    /// Records a vote, or an error in the place of a vote.
    pub(super) fn judge(&mut self, call: &Call, answer: &Answer) {
        match (answer, call.effect()) {
            (Answer::Failed(error), Effect::Takes | Effect::Keeps) if error.concerns_the_node() => {
                self.refused(error);
            }
            // Only for an acquisition: a server that is out of memory still extends.
            (Answer::Reply { .. }, Effect::Takes) => self.voted(),
            _ => {}
        }
    }

    /// Asks whether the server would set a key, with a key that never exists.
    pub(super) fn probe(&mut self, now: Instant) {
        self.probe_at = None;
        if self.inbox.metrics.refusals.reason(now).is_none() {
            return;
        }
        let prefix = self.options.checked_set.as_ref();
        let prefix = prefix.map_or(&b""[..], |checked_set| checked_set.key_prefix());
        let key = [prefix, b"redlock:permissions"].concat();
        let words: [&[u8]; 6] = [b"SET", &key, b"", b"XX", b"PX", b"1"];
        self.output.extend_from_slice(&pack(words.into_iter()));
        self.push(now, Purpose::Probe);
    }

    pub(super) fn probed(&mut self, value: &Value<'_>) {
        let Value::Error(text) = value else {
            return self.voted();
        };
        let error = NodeError::server(text);
        if error.concerns_the_node() {
            self.refused(&error);
        } else {
            // The user may not use that key.
            self.probe_at(Instant::now() + EVERY);
        }
    }

    fn refused(&mut self, error: &NodeError) {
        let now = Instant::now();
        if self.inbox.metrics.refusals.refused(error, now) {
            log_node!(
                self.inbox.log,
                warn,
                &error.to_string(),
                "node answers with errors; it does not vote until it serves an operation"
            );
        }
        if self.probe_at.is_none() {
            self.probe_at(now + EVERY);
        }
    }

    fn voted(&mut self) {
        if self.inbox.metrics.refusals.voted() {
            log_node!(self.inbox.log, info, "", "node votes again");
        }
    }

    fn probe_at(&mut self, at: Instant) {
        self.probe_at = Some(at);
        if self.watchdog.deadline() > at {
            self.watchdog.as_mut().reset(at);
        }
    }
}
