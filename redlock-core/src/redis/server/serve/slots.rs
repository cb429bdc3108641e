//! A connection to a server that has only some of the slots.

use tokio::time::Instant;

use crate::node::NodeError;
use crate::redis::connection::errors::lost;

use super::super::inbox::Redirected;
use super::{Purpose, Serve};

impl Serve {
    /// Sends `ASKING`: the slot of the next operation is moving to this server.
    pub(super) fn ask_for_slot(&mut self, since: Instant) {
        self.output.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
        self.push(since, Purpose::Asking);
    }

    /// Passes an operation that the server did not run to its right place.
    pub(super) fn hand_on(&mut self, purpose: Purpose, redirected: Redirected<'_>) {
        self.answered += usize::from(matches!(purpose, Purpose::Call { .. }));
        match purpose {
            Purpose::Call { call, reply, route } => redirected.call(call, reply, route),
            Purpose::Owed(owed) => {
                redirected.owed(owed);
                self.tried(true);
            }
            Purpose::Joined(..)
            | Purpose::Heartbeat
            | Purpose::Asking
            | Purpose::Check
            | Purpose::Memory
            | Purpose::Probe => {}
        }
    }
}

pub(super) fn replaced() -> NodeError {
    lost("the server is no longer a master of the Cluster")
}
