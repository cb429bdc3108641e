//! What the actor asks a server about itself on a live connection: whether it serves acquisitions, and whether it has
//! begun to evict keys.

use std::time::Duration;

use tokio::time::Instant;

use crate::env::caught::log;
use crate::node::log::log_node;
use crate::node::{Answer, Call, Effect, NodeError, Value};
use crate::redis::connection::vetting::{Facts, refused};
use crate::redis::options::Vetting;

use super::actor::{Actor, Purpose};
use super::command::words;

/// The interval of the probes while a server refuses.
const EVERY: Duration = Duration::from_secs(1);

/// The facts about the server's memory, and the moment of the last question.
pub(super) struct Memory {
    facts: Facts,
    asked: Instant,
}

impl Memory {
    /// `None` if the server did not tell them at the handshake: it would not tell them now either.
    pub(super) fn of(facts: Facts, asked: Instant) -> Option<Self> {
        facts.is_open().then_some(Self { facts, asked })
    }
}

impl Actor {
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
        let key = [self.options.key_prefix(), b"redlock:permissions"].concat();
        let question: [&[u8]; 6] = [b"SET", &key, b"", b"XX", b"PX", b"1"];
        self.send(words(question.into_iter()), now, Purpose::Probe);
    }

    pub(super) fn probed(&mut self, value: &Value) {
        let Value::Error(text) = value else {
            return self.voted();
        };
        let error = NodeError::server(text);
        if error.concerns_the_node() {
            self.refused(&error);
        } else {
            // The user may not use that key.
            self.probe_at(self.heard + EVERY);
        }
    }

    fn refused(&mut self, error: &NodeError) {
        if self.inbox.metrics.refusals.refused(error, self.heard) {
            log_node!(
                self.inbox.log,
                warn,
                &error.to_string(),
                "node answers with errors; it does not vote until it serves an operation"
            );
        }
        if self.probe_at.is_none() {
            self.probe_at(self.heard + EVERY);
        }
    }

    fn voted(&mut self) {
        if self.inbox.metrics.refusals.voted() {
            log_node!(self.inbox.log, info, "", "node votes again");
        }
    }

    fn probe_at(&mut self, at: Instant) {
        self.probe_at = Some(at);
        self.watch_by(at);
    }

    /// Asks about the server's memory once a heartbeat. The watchdog fires about as often, so the question has no
    /// timer.
    pub(super) fn ask_for_memory(&mut self, now: Instant) {
        let heartbeat = self.options.heartbeat;
        let is_due = |memory: &&mut Memory| now.duration_since(memory.asked) >= heartbeat;
        let Some(memory) = self.memory.as_mut().filter(is_due) else {
            return;
        };
        memory.asked = now;
        let question = [b"INFO".as_slice(), b"memory"];
        self.send(words(question.into_iter()), now, Purpose::Memory);
    }

    /// Judges the server's memory as at the handshake: refuses the server, or warns of a new fault.
    pub(super) fn vet_memory(&mut self, value: &Value) -> Result<(), NodeError> {
        let (Some(memory), Value::Text(info)) = (&mut self.memory, value) else {
            return Ok(());
        };
        let pool = &self.inbox.log.pool;
        let before = memory.facts.eviction(pool);
        memory.facts.read_info(&String::from_utf8_lossy(info));
        match (memory.facts.eviction(pool), self.options.vetting) {
            (Some(fault), Vetting::Refuse) => return Err(refused(fault)),
            (Some(fault), Vetting::Warn) if before.as_ref() != Some(&fault) => {
                log!(warn, %pool, "{fault}");
            }
            _ => {}
        }
        Ok(())
    }
}
