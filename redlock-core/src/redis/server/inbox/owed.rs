//! Releases that a connected server did not serve.

use tokio::time::Instant;

use super::{Inbox, Owed};

impl Inbox {
    /// Keeps a release that the server answered with an error.
    pub(in crate::redis) fn owe(&self, owed: Owed) {
        self.state.lock().owe(owed);
    }

    /// True if a release is owed that has not passed its ttl.
    pub(in crate::redis) fn owes(&self, now: Instant) -> bool {
        self.state.lock().owed.iter().any(|owed| owed.until > now)
    }

    /// Takes out at most `most` owed releases, the oldest first. Drops releases that have passed their
    /// ttl.
    pub(in crate::redis) fn take_owed_batch(&self, most: usize, now: Instant) -> Vec<Owed> {
        let mut state = self.state.lock();
        let most = most.min(state.owed.len());
        let taken: Vec<_> = state.owed.drain(..most).collect();
        state.still_owed(taken, now)
    }

    /// An owed release that was sent again is answered.
    pub(in crate::redis) fn tried(&self) {
        let mut state = self.state.lock();
        state.retried = state.retried.saturating_sub(1);
    }

    /// True if no call is queued or unanswered, and no release waits for its first answer.
    pub(in crate::redis) fn drained(&self) -> bool {
        let now = self.time.now();
        let state = self.state.lock();
        let mut owed = state.owed.iter();
        let owes = owed.any(|owed| owed.until > now && !owed.is_answered);
        state.outstanding == 0 && state.retried == 0 && !owes
    }
}
