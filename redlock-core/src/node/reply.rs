//! The way of a node's answer to an operation.

use std::fmt;
use std::sync::Arc;

use super::call::Reads;
use super::{Answer, Call, NodeError, NodeErrorKind, Vote};

/// The receiver of a node's answer. Dropping it unanswered is an answer too: the outcome is unknown.
pub struct Reply {
    to: Option<Arc<dyn VoteReceiver>>,
    seat: usize,
    reads: Reads,
}

/// Receives the votes of the nodes, each at its own seat.
pub(crate) trait VoteReceiver: Send + Sync {
    /// Takes the vote of the node at `seat`. May wake the caller, and submit to the node.
    fn vote(&self, seat: usize, vote: Vote);
}

impl Reply {
    /// A reply that no caller waits for.
    pub(crate) fn to_nobody() -> Self {
        Self {
            to: None,
            seat: 0,
            reads: |_| None,
        }
    }

    pub(crate) fn new(to: Arc<impl VoteReceiver + 'static>, seat: usize, call: &Call) -> Self {
        Self {
            to: Some(to),
            seat,
            reads: call.reads,
        }
    }

    /// Delivers the answer. Wakes the caller if the answer decides its round, and may submit a release to the
    /// same node. So do not call it while holding a mutex that the caller or a submission might need.
    pub fn answer(mut self, answer: Answer) {
        if let Some(to) = self.to.take() {
            to.vote(self.seat, Vote::of(self.reads, answer));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            let error = NodeError::sent(NodeErrorKind::Disconnected, "the node went away");
            to.vote(self.seat, Vote::Failed(error));
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("seat", &self.seat)
            .finish_non_exhaustive()
    }
}
