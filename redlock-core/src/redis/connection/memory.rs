//! Whether a server has begun to evict keys, asked on a live connection.

use tokio::time::Instant;

use crate::env::caught::log;
use crate::node::{NodeError, Value};
use crate::redis::options::Vetting;
use crate::redis::vetting::{Facts, refused};

use super::line::{Line, Purpose};

/// The facts about the server's memory, and the moment of the last question.
pub(super) struct Memory {
    facts: Facts,
    asked: Instant,
}

impl Memory {
    /// `None` if the server did not tell the facts at the handshake: it would not tell them now either.
    pub(super) fn of(facts: Facts, asked: Instant) -> Option<Self> {
        facts.is_open().then_some(Self { facts, asked })
    }

    /// Asks once a heartbeat. The alarm of the line fires about as often, so the question has no timer.
    pub(super) fn ask(&mut self, now: Instant, line: &mut Line) {
        if now.duration_since(self.asked) >= line.options.heartbeat {
            self.asked = now;
            line.ask(::redis::cmd("INFO").arg("memory").take(), Purpose::Memory);
        }
    }

    /// Judges the server's memory as at the handshake: refuses the server, or warns of a new fault.
    pub(super) fn answered(&mut self, value: &Value, line: &Line) -> Result<(), NodeError> {
        let Value::Text(info) = value else {
            return Ok(());
        };
        let pool = &line.inbox.log.pool;
        let before = self.facts.eviction(pool);
        self.facts.read_info(&String::from_utf8_lossy(info));
        match (self.facts.eviction(pool), line.options.vetting) {
            (Some(fault), Vetting::Refuse) => return Err(refused(fault)),
            (Some(fault), Vetting::Warn) if before.as_ref() != Some(&fault) => {
                log!(warn, %pool, "{fault}");
            }
            _ => {}
        }
        Ok(())
    }
}
