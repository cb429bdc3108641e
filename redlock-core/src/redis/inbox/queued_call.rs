//! The entries of an inbox, and the releases that outlive a connection.

use tokio::time::Instant;

use crate::io_thread::LibraryTime;
use crate::node::{Answer, Call, Effect, Submission};

/// A call on its way to a server, or a release that is still to be delivered.
pub(in crate::redis) struct QueuedCall {
    submission: Submission,
    /// The end of the time for which a release is owed: after it, the key is gone by itself. `None` for a call that
    /// was never owed.
    until: Option<Instant>,
    /// True if the server found nothing to release, but the acquisition may still reach it. A shutdown does not wait
    /// for that.
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

    /// The release, to be delivered later, when no caller waits for it any more. `None` if the call is not a release:
    /// then nothing is owed. The ttl counts by the library's time, as the node's driver does.
    pub(in crate::redis) fn owed(&self, time: &LibraryTime) -> Option<Self> {
        let Effect::Undoes(ttl) = self.call().effect else {
            return None;
        };
        // The ttl is below a year, but this library checks its sums of times itself.
        let until = self.until.or_else(|| time.now().checked_add(ttl))?;
        Some(Self {
            until: Some(until),
            ..Self::new(self.submission.owed())
        })
    }

    /// True if a release is still worth its delivery.
    pub(in crate::redis) fn is_due(&self, now: Instant) -> bool {
        self.until > Some(now)
    }
}
