//! Releases that the server did not serve, as long as it is connected.

use tokio::time::Instant;

use super::{Inbox, Owed};

impl Inbox {
    /// The server answered this release with an error.
    pub(in crate::redis) fn owe(&self, owed: Owed) {
        self.state.lock().owe(owed);
    }

    /// Whether a release is owed that is of any use yet.
    pub(in crate::redis) fn owes(&self, now: Instant) -> bool {
        self.state.lock().owed.iter().any(|owed| owed.until > now)
    }

    /// Takes out at most `most` of the releases that are owed, the oldest first.
    pub(in crate::redis) fn take_owed_batch(&self, most: usize, now: Instant) -> Vec<Owed> {
        let mut state = self.state.lock();
        let most = most.min(state.owed.len());
        let taken = state.owed.drain(..most);
        taken.filter(|owed| owed.until > now).collect()
    }
}
