//! The way of a node's answer to an operation.

use std::fmt;
use std::sync::Arc;

use super::call::Reads;
use super::{Answer, Call, NodeError, NodeErrorKind, Value, Vote};

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

    /// True if the release of the operation may have been sent to the nodes.
    fn is_retracted(&self) -> bool;
}

impl Reply {
    /// A reply that no caller waits for.
    pub(crate) fn to_nobody() -> Self {
        Self {
            to: None,
            seat: 0,
            reads: |_: Value| None,
        }
    }

    /// True if the caller has given the operation up, so that its release may have been submitted to the
    /// node. An acquisition must then not be sent again: it could arrive after the release, and its key
    /// would stay until the ttl.
    ///
    /// Only a node that sends an operation again needs this, for example because the server answered that
    /// it did not run it. Ask under the mutex under which the node queues operations. Then a release that
    /// is submitted after the question is queued after the acquisition.
    ///
    /// # Example: a server that did not run an operation
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use redlock_core::node::{Answer, Call, Effect, NodeError, NodeErrorKind, Reply};
    ///
    /// type Queue = Mutex<Vec<(Arc<Call>, Reply)>>;
    ///
    /// fn was_not_run(queue: &Queue, call: Arc<Call>, reply: Reply) {
    ///     let is_acquisition = call.effect() == Effect::Takes;
    ///     let mut queued = queue.lock().unwrap();
    ///     if is_acquisition && reply.is_retracted() {
    ///         // The answer may wake the caller, so it is given without the mutex.
    ///         drop(queued);
    ///         let error = NodeError::unsent(NodeErrorKind::Server, "not run, and given up");
    ///         reply.answer(Answer::Failed(error));
    ///     } else {
    ///         queued.push((call, reply));
    ///     }
    /// }
    /// ```
    pub fn is_retracted(&self) -> bool {
        self.to.as_ref().is_some_and(|to| to.is_retracted())
    }

    pub(crate) fn new(to: Arc<impl VoteReceiver + 'static>, seat: usize, call: &Call) -> Self {
        Self {
            to: Some(to),
            seat,
            reads: call.reads(),
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
