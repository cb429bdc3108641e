//! The entries of an inbox. Owed releases among them outlive a connection.

use tokio::time::Instant;

use crate::io_thread::LibraryTime;
use crate::node::{Answer, Call, Effect, Submission};

/// A call on its way to a server, or an owed release, which is still to be delivered.
pub(in crate::redis) struct QueuedCall {
    submission: Submission,
    /// The moment at which an owed release expires, because its key has expired too. `None` for other calls.
    until: Option<Instant>,
    /// True if the server has answered this release, but its acquisition may still arrive. The release is sent again,
    /// but a shutdown does not wait for that.
    pub(in crate::redis) is_answered: bool,
}

impl QueuedCall {
    pub(in crate::redis) fn new(submission: Submission) -> Self {
        Self {
            submission,
            until: None,
            is_answered: false,
        }
    }

    pub(in crate::redis) fn call(&self) -> &Call {
        self.submission.call()
    }

    pub(in crate::redis) fn answer(self, answer: Answer) {
        self.submission.answer(answer);
    }

    /// Returns a release as an owed release, for which no caller waits. Returns `None` for other calls. The ttl counts
    /// by the library's time, as the node's driver does.
    pub(in crate::redis) fn owed(&self, time: &LibraryTime) -> Option<Self> {
        let Effect::Undoes(ttl) = self.call().effect else {
            return None;
        };
        // A ttl is below a year, so the sum fits, but this library checks all its sums of times.
        let until = self.until.or_else(|| time.now().checked_add(ttl))?;
        Some(Self {
            until: Some(until),
            ..Self::new(self.submission.owed())
        })
    }

    /// True if this is an owed release whose ttl has not passed.
    pub(in crate::redis) fn is_due(&self, now: Instant) -> bool {
        self.until > Some(now)
    }
}
