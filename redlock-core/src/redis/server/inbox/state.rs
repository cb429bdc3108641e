//! What an inbox holds, and its gate.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use crate::node::NodeError;
use crate::redis::connection::writer::Writer;
use crate::redis::protocol::command::{Encoding, encoded};

use super::{Owed, Submission};

/// How many releases are remembered for a server that cannot be reached. Beyond that the oldest
/// are forgotten, and their keys go away at the ttl.
const MOST_OWED: usize = 65_536;

pub(super) struct InboxState {
    pub(super) gate: Gate,
    /// What the gate is made of, while there is a connection.
    pub(super) is_connected: bool,
    pub(super) quarantine: Option<NodeError>,
    pub(super) suspicion: Option<NodeError>,
    pub(super) queue: Vec<Submission>,
    /// The connection, for a caller to write to by itself while the driver has nothing to do: one
    /// thread less to wake on the way to the server.
    pub(super) direct: Option<Direct>,
    /// What callers wrote by themselves, which the driver has not yet heard of.
    pub(super) written: Vec<Submission>,
    /// The end of what a caller wrote, where the socket took only a part.
    pub(super) unwritten: Vec<u8>,
    /// Releases that could not be delivered, whose answer got lost, or was an error.
    pub(super) owed: VecDeque<Owed>,
    /// Submitted and not answered.
    pub(super) outstanding: usize,
    /// The driver's waker, while it has nothing to do.
    pub(super) driver: Option<Waker>,
    pub(super) is_settled: bool,
    pub(super) end: Option<InboxEnd>,
}

/// Why there will be no other connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InboxEnd {
    /// The node was dropped; what was submitted is still sent.
    Dropped,
    /// The server is no part of its Cluster any more. The gate stays closed.
    Retired,
}

pub(super) enum Gate {
    /// Connected.
    Open,
    /// Connected, but an answer is overdue: votes no, except that releases go out behind what
    /// they undo.
    Suspect(NodeError),
    /// Connected, but the node may have forgotten locks, or has not been looked at yet: votes no,
    /// except that releases go out.
    Quarantined(NodeError),
    /// Not connected.
    Closed(NodeError),
}

/// See [`InboxState::direct`].
pub(super) struct Direct {
    pub(super) writer: Arc<dyn Writer>,
    pub(super) encoding: Encoding,
    /// The driver has written everything, hardly waits for an answer, and looks after overdue ones
    /// soon.
    pub(super) is_calm: bool,
}

/// What became of a caller's own write.
pub(super) enum Written {
    Nothing,
    Part,
    All,
}

impl InboxState {
    pub(super) fn is_retired(&self) -> bool {
        self.end == Some(InboxEnd::Retired)
    }

    /// A quarantine outlasts a suspicion: what is suspect now may vote in a moment.
    pub(super) fn set_gate(&mut self) {
        if !self.is_connected || self.is_retired() {
            return;
        }
        self.gate = match (&self.quarantine, &self.suspicion) {
            (Some(error), _) => Gate::Quarantined(error.clone()),
            (None, Some(error)) => Gate::Suspect(error.clone()),
            (None, None) => Gate::Open,
        };
    }

    /// Writes an operation to the connection at once, where the driver has nothing to do. With
    /// more than one operation under way the driver's batches are cheaper, and it keeps the order.
    pub(super) fn write(&mut self, submission: &Submission) -> Written {
        let Some(direct) = self.direct.as_mut().filter(|direct| direct.is_calm) else {
            return Written::Nothing;
        };
        let route = submission.route;
        if !matches!(self.gate, Gate::Open) || route.is_asking || route.is_barrier {
            return Written::Nothing;
        }
        direct.is_calm = false;
        let bytes = encoded(&submission.operation, &direct.encoding);
        match direct.writer.try_write(bytes) {
            Ok(0) | Err(_) => Written::Nothing,
            Ok(written) if written == bytes.len() => Written::All,
            Ok(written) => {
                self.unwritten.extend_from_slice(&bytes[written..]);
                Written::Part
            }
        }
    }

    pub(super) fn owe(&mut self, owed: Owed) {
        if self.end == Some(InboxEnd::Dropped) {
            // There will be no other connection.
            return;
        }
        if self.owed.len() == MOST_OWED {
            self.owed.pop_front();
        }
        self.owed.push_back(owed);
    }
}
