//! The way of a call to a node, and of the node's answer back.

use std::sync::Arc;

use crate::debug::debug_in_part;

use super::{Answer, Call, NodeError, NodeErrorKind, Vote};

/// A call that was handed to one node, and the duty to answer it. Dropping it unanswered is an answer too: the outcome is
/// unknown.
pub struct Submission {
    sink: Arc<dyn VoteSink>,
    seat: usize,
    is_answered: bool,
}

/// Has a call, and receives the votes of the nodes, each at its own seat.
pub(crate) trait VoteSink: Send + Sync {
    fn call(&self) -> &Call;

    /// Takes the vote of the node at `seat`. May wake the caller, and through its waker submit to the node.
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

    /// Delivers the answer, unless there was one. Wakes the caller if the answer decides its round. Through that waker, a
    /// release may be submitted to this node. So do not call it while holding a mutex that the caller or a submission might need.
    pub fn answer(mut self, answer: Answer) {
        let vote = self.call().vote(answer);
        self.vote(vote);
    }

    fn vote(&mut self, vote: Vote) {
        if !std::mem::replace(&mut self.is_answered, true) {
            self.sink.vote(self.seat, vote);
        }
    }

    /// Returns a handle on this call without the duty to answer it, for a node that owes the call.
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
