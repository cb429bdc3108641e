//! How a node answers an operation.

use std::fmt;
use std::sync::Arc;

use super::{Answer, NodeError, NodeErrorKind};

/// Where a node's answer goes. Dropping it unanswered is an answer too: the outcome is unknown.
pub struct Reply {
    to: Option<Arc<dyn Answers>>,
    seat: usize,
}

/// What the nodes answer to, each at its own seat.
pub(crate) trait Answers: Send + Sync {
    /// Takes the answer of the node at `seat`. May wake the caller.
    fn answer(&self, seat: usize, answer: Answer);

    /// Whether what undoes the operation may be on its way to the nodes.
    fn is_retracted(&self) -> bool;
}

impl Reply {
    /// Nobody waits for the answer.
    pub(crate) fn to_nobody() -> Self {
        Self { to: None, seat: 0 }
    }

    /// Whether what undoes the operation may be on its way to the node: then the operation must not
    /// be sent again, as it could come in behind that.
    pub(crate) fn is_retracted(&self) -> bool {
        self.to.as_ref().is_some_and(|to| to.is_retracted())
    }

    pub(crate) fn new(to: Arc<impl Answers + 'static>, seat: usize) -> Self {
        Self { to: Some(to), seat }
    }

    /// Delivers the answer. Wakes the caller where that decides its round, so do not call it with
    /// a lock held that the caller might want.
    pub fn answer(mut self, answer: Answer) {
        if let Some(to) = self.to.take() {
            to.answer(self.seat, answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            let error = NodeError::sent(NodeErrorKind::Disconnected, "the node went away");
            to.answer(self.seat, Answer::Failed(error));
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
