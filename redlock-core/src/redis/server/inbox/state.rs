//! The content of an inbox, and its gate.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use tokio::runtime::{self, Handle};

use crate::node::NodeError;
use crate::redis::connection::writer::Writer;
use crate::redis::protocol::command::{Encoding, encoded};

use super::{Owed, Submission};

/// The most releases that are kept while the server does not take them. Beyond it the oldest are
/// dropped, and their keys expire at the ttl.
const STREAK: u32 = 16;
const MOST_OWED: usize = 65_536;

pub(super) struct InboxState {
    pub(super) gate: Gate,
    /// While this is true, `quarantine` and `suspicion` decide the gate.
    pub(super) is_connected: bool,
    pub(super) quarantine: Option<NodeError>,
    pub(super) suspicion: Option<NodeError>,
    pub(super) queue: Vec<Submission>,
    /// The connection. A caller writes to it by itself while the driver has nothing to do. This saves
    /// waking one thread on the way to the server.
    pub(super) direct: Option<Direct>,
    /// Operations that callers wrote by themselves and the driver does not know of yet.
    pub(super) written: Vec<Submission>,
    /// The rest of a caller's write that the socket accepted only in part.
    pub(super) unwritten: Vec<u8>,
    /// Releases that could not be sent, lost their answer, or were answered with an error.
    pub(super) owed: VecDeque<Owed>,
    /// The runtime that made the last of the callers' own writes, and how many it made in a row.
    pub(super) streak: Option<(runtime::Id, u32)>,
    /// The runtime that the connection is lent to, and the driver that lent it.
    pub(super) lent: Option<(runtime::Id, Waker)>,
    pub(super) is_recalled: bool,
    pub(super) wish: Option<Handle>,
    /// The number of operations that were submitted and not answered.
    pub(super) outstanding: usize,
    /// The driver's waker, while it has nothing to do.
    pub(super) driver: Option<Waker>,
    pub(super) is_settled: bool,
    pub(super) end: Option<InboxEnd>,
}

/// The reason why there will be no other connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InboxEnd {
    /// The node was dropped. Submitted operations are still sent.
    Dropped,
    /// The server is no longer a part of its Cluster. The gate stays closed.
    Retired,
}

pub(super) enum Gate {
    /// Connected.
    Open,
    /// Connected, but an answer is overdue. The node votes no. Releases are still sent, after the
    /// operations that they undo.
    Suspect(NodeError),
    /// Connected, but the node may have forgotten locks, or was not checked yet. The node votes no.
    /// Releases are still sent.
    Quarantined(NodeError),
    /// Not connected.
    Closed(NodeError),
}

/// See [`InboxState::direct`].
pub(super) struct Direct {
    pub(super) writer: Arc<dyn Writer>,
    pub(super) encoding: Encoding,
    /// True if the driver has written everything, waits for few answers, and its watchdog fires in time
    /// for an overdue one.
    pub(super) is_calm: bool,
}

/// The result of a caller's own write.
pub(super) enum Written {
    Nothing,
    Part,
    All,
}

impl InboxState {
    pub(super) fn is_retired(&self) -> bool {
        self.end == Some(InboxEnd::Retired)
    }

    /// Sets the gate of a connected node. A quarantine precedes a suspicion, because a suspect node may
    /// vote again in a moment.
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

    /// Writes an operation to the connection at once, if the driver is calm. With more than one
    /// operation in flight the driver's batches are cheaper, and the driver keeps the order.
    pub(super) fn write(&mut self, submission: &Submission) -> Written {
        let Some(direct) = self.direct.as_mut().filter(|direct| direct.is_calm) else {
            return Written::Nothing;
        };
        let route = submission.route;
        if !matches!(self.gate, Gate::Open) || route.is_asking || route.is_barrier {
            return Written::Nothing;
        }
        direct.is_calm = false;
        if self.lent.is_none() {
            self.count();
        }
        let Some(direct) = &mut self.direct else { return Written::Nothing };
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

    /// Counts a caller's own write.
    fn count(&mut self) {
        let Ok(handle) = Handle::try_current() else {
            self.streak = None;
            return;
        };
        let id = handle.id();
        let count = match self.streak {
            Some((last, count)) if last == id => count + 1,
            _ => 1,
        };
        self.streak = Some((id, count));
        if count == STREAK {
            self.wish = Some(handle);
        }
    }

    /// The driver to wake, if the connection is lent to another runtime than the caller's.
    pub(super) fn recall(&mut self) -> Option<Waker> {
        let (id, driver) = self.lent.as_ref()?;
        if self.is_recalled || Handle::try_current().is_ok_and(|handle| handle.id() == *id) {
            return None;
        }
        self.is_recalled = true;
        Some(driver.clone())
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
