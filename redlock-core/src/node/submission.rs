//! Submissions: calls on their way to a node, and the answers on their way back.

use std::sync::Arc;

use crate::debug::debug_in_part;

use super::{Answer, Call, NodeError, NodeErrorKind, Vote};

/// A call for one node, with the duty to answer it. A drop without an answer counts as one: the outcome is unknown.
pub struct Submission {
    sink: Arc<dyn VoteSink>,
    seat: usize,
    is_answered: bool,
}

/// Holds a call, and receives the vote of each node at its own seat.
pub(crate) trait VoteSink: Send + Sync {
    fn call(&self) -> &Call;

    /// Records the vote of the node at `seat`. May wake the caller, whose waker may submit to the node.
    fn vote(&self, seat: usize, vote: Vote);
}

impl Submission {
    pub(crate) fn new(sink: Arc<impl VoteSink + 'static>, seat: usize) -> Self {
        Self {
            sink,
            seat,
            is_answered: false,
        }
    }

    /// Returns the call.
    pub fn call(&self) -> &Call {
        self.sink.call()
    }

    /// Delivers the answer, unless there was one before. Wakes the caller if the answer decides its round. The waker
    /// may submit a release to this node. So do not call this while holding a mutex that the caller or a submission
    /// might need.
    pub fn answer(mut self, answer: Answer) {
        let vote = self.call().vote(answer);
        self.vote(vote);
    }

    fn vote(&mut self, vote: Vote) {
        if !std::mem::replace(&mut self.is_answered, true) {
            self.sink.vote(self.seat, vote);
        }
    }

    /// Returns a handle on this call without the duty to answer it. A node keeps it to repeat a release that it owes.
    #[must_use]
    pub fn owed(&self) -> Self {
        Self {
            sink: Arc::clone(&self.sink),
            seat: self.seat,
            is_answered: true,
        }
    }
}

impl Drop for Submission {
    fn drop(&mut self) {
        if !self.is_answered {
            let error = NodeError::sent(NodeErrorKind::Disconnected, "the node went away");
            self.vote(Vote::Failed(error));
        }
    }
}

debug_in_part!(Submission, it => call: it.call(), seat: it.seat);
