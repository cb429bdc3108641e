//! Notices if a server begins to evict keys under a live connection.

use tokio::time::Instant;

use crate::env::caught::log;
use crate::node::NodeError;
use crate::redis::connection::vetting::{Facts, refused};
use crate::redis::options::Vetting;
use crate::redis::protocol::wire::Value;

use super::{Purpose, Serve};

/// The facts about the server's memory, and the moment of the last question.
pub(super) struct Memory {
    facts: Facts,
    asked: Instant,
}

impl Memory {
    /// `None` if the server did not tell them at the handshake: it would not tell them now either.
    pub(super) fn of(facts: Facts) -> Option<Self> {
        let asked = Instant::now();
        facts.is_open().then_some(Self { facts, asked })
    }
}

impl Serve {
    /// Asks again once a heartbeat. The watchdog fires about as often, so the question has no timer.
    pub(super) fn ask_for_memory(&mut self, now: Instant) {
        let heartbeat = self.options.heartbeat;
        let is_due = |memory: &&mut Memory| now.duration_since(memory.asked) >= heartbeat;
        let Some(memory) = self.memory.as_mut().filter(is_due) else {
            return;
        };
        memory.asked = now;
        self.output
            .extend_from_slice(b"*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n");
        self.push(now, Purpose::Memory);
    }

    /// Judges the server's memory as at the handshake: refuses the server, or warns of a new fault.
    pub(super) fn vet_memory(&mut self, value: &Value<'_>) -> Result<(), NodeError> {
        let (Some(memory), Value::Bulk(info)) = (&mut self.memory, value) else {
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
