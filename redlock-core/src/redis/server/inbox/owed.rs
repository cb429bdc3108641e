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
        taken.filter(|owed| owed.until > now).collect()
    }
}
