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
        let taken = state.owed.drain(..most);
        let taken: Vec<_> = taken.filter(|owed| owed.until > now).collect();
        state.retried += taken.len();
        taken
    }

    /// An owed release that was sent again is answered.
    pub(in crate::redis) fn tried(&self) {
        let mut state = self.state.lock();
        state.retried = state.retried.saturating_sub(1);
    }

    /// True if no call is queued or unanswered, and no release is owed.
    pub(in crate::redis) fn drained(&self) -> bool {
        let now = self.time.now();
        let state = self.state.lock();
        let owes = state.owed.iter().any(|owed| owed.until > now);
        state.outstanding == 0 && state.retried == 0 && !owes
    }
}
