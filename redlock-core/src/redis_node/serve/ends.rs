//! What becomes of operations whose answer does not come, or says that they did not run.

use crate::node::{Answer, NodeError};
use crate::operation::{SharedOperation, Want};

use super::super::inbox::Owed;
use super::{Purpose, Serve};

impl Serve<'_> {
    /// Whether what undoes an operation that sets a key was sent already, its release or what it
    /// gives way to: sent again now, it would come behind that, and nobody would ever undo it.
    pub(super) fn is_overtaken(&self, operation: &SharedOperation) -> bool {
        matches!(
            operation.want(),
            Want::Acquire { .. } | Want::Restore { .. }
        ) && self.in_flight.iter().any(|later| match &later.purpose {
            Purpose::Operation {
                operation: later, ..
            }
            | Purpose::Owed(Owed {
                operation: later, ..
            }) => {
                let is_release = matches!(later.want(), Want::Release { .. });
                is_release && later.token() == operation.token()
                    || later.predecessor() == Some(operation.token())
            }
            Purpose::Heartbeat | Purpose::Asking | Purpose::Check => false,
        })
    }

    /// The connection is gone. Callers hear that nobody knows; releases are owed.
    pub(super) fn give_up(&mut self, error: &NodeError) {
        self.hear_of_written();
        let mut owed = Vec::new();
        let mut replies = Vec::new();
        for in_flight in self.in_flight.drain(..) {
            match in_flight.purpose {
                Purpose::Operation {
                    operation,
                    reply,
                    route,
                } => {
                    owed.extend(Owed::for_release(&operation, route));
                    replies.push(reply);
                }
                Purpose::Owed(still) => owed.push(still),
                Purpose::Heartbeat | Purpose::Asking | Purpose::Check => {}
            }
        }
        self.inbox.close(error, owed);
        // Whatever ends the connection: these may have been served, and have to be undone.
        let unknown = error.clone().into_sent();
        self.inbox.pulse.failed(error.kind(), replies.len());
        for reply in replies {
            reply.answer(Answer::Failed(unknown.clone()));
        }
    }
}
