//! The content of an inbox, and its gate.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::loan::Loan;
use super::{Owed, Submission};
use crate::model::token::OwnerToken;
use crate::node::watch::Watch;
use crate::node::{Call, NodeError};

/// The most releases that are kept while the server does not take them. Beyond it the oldest are
/// dropped, and their keys expire at the ttl.
const MOST_OWED: usize = 65_536;

pub(super) struct InboxState {
    pub(super) gate: Gate,
    /// While this is true, `quarantine` and `suspicion` decide the gate.
    pub(super) is_connected: bool,
    pub(super) quarantine: Option<NodeError>,
    pub(super) suspicion: Option<NodeError>,
    pub(super) queue: Vec<Submission>,
    /// Releases that could not be sent, lost their answer, or were answered with an error.
    pub(super) owed: VecDeque<Owed>,
    /// The number of owed releases that the driver has sent again, and that are not answered.
    pub(super) retried: usize,
    /// Where the callers run, and where the connection is served.
    pub(super) loan: Loan,
    /// Callers that wait for keys, which the driver does not know yet.
    pub(super) watches: Vec<Watch>,
    /// Keys that the server says have changed; `None` for all.
    pub(super) changed: Vec<Option<Arc<[u8]>>>,
    /// The owners of acquisitions that lost their answer with their connection.
    pub(super) lost: HashSet<OwnerToken>,
    /// When the oldest call of the queue came.
    pub(super) oldest: Option<Instant>,
    /// The number of operations that were submitted and not answered.
    pub(super) outstanding: usize,
    /// The driver's waker, while it has nothing to do.
    pub(super) driver: Option<Waker>,
    pub(super) is_settled: bool,
    /// True once the node was dropped. Submitted operations are still sent.
    pub(super) has_ended: bool,
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

impl InboxState {
    /// Sets the gate of a connected node. A quarantine precedes a suspicion, because a suspect node may
    /// vote again in a moment.
    pub(super) fn set_gate(&mut self) {
        if !self.is_connected {
            return;
        }
        self.gate = match (&self.quarantine, &self.suspicion) {
            (Some(error), _) => Gate::Quarantined(error.clone()),
            (None, Some(error)) => Gate::Suspect(error.clone()),
            (None, None) => Gate::Open,
        };
    }

    /// The acquisition of this release has come and gone, or its time is over.
    pub(super) fn forget_lost(&mut self, release: &Call) {
        if let Some(token) = release.token() {
            self.lost.remove(token);
        }
    }

    /// Keeps the owed releases that have not passed their ttl.
    pub(super) fn still_owed(
        &mut self,
        owed: impl IntoIterator<Item = Owed>,
        now: tokio::time::Instant,
    ) -> Vec<Owed> {
        let owed = owed.into_iter();
        let (kept, over): (Vec<_>, Vec<_>) = owed.partition(|owed| owed.until > now);
        for owed in over {
            self.forget_lost(&owed.call);
        }
        self.retried += kept.len();
        kept
    }

    pub(super) fn owe(&mut self, owed: Owed) {
        if self.has_ended {
            // There will be no other connection.
            return;
        }
        if self.owed.len() == MOST_OWED {
            self.owed.pop_front();
        }
        self.owed.push_back(owed);
    }
}
