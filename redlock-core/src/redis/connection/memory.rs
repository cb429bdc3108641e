//! Whether a server has begun to evict keys, asked on a live connection.

use tokio::time::Instant;

use crate::env::caught::log;
use crate::node::{NodeError, Value};
use crate::redis::options::Vetting;
use crate::redis::vetting::{eviction, refused};

use super::line::{Line, Purpose};

/// The last question about the server's memory.
pub(super) struct Memory {
    asked: Instant,
    /// True if the log says already that the server evicts keys.
    is_warned: bool,
}

impl Memory {
    pub(super) fn new(asked: Instant) -> Self {
        Self {
            asked,
            is_warned: false,
        }
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
        let fault = eviction(&String::from_utf8_lossy(info));
        let is_known = std::mem::replace(&mut self.is_warned, fault.is_some());
        let Some(fault) = fault else {
            return Ok(());
        };
        let fault = format!("`{pool}` {fault}");
        if line.options.vetting == Vetting::Refuse {
            return Err(refused(fault));
        }
        if !is_known {
            log!(warn, %pool, "{fault}");
        }
        Ok(())
    }
}
