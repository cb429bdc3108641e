//! Releases that a connected server did not serve.

use tokio::time::Instant;

use super::{Inbox, Owed};
use crate::node::Call;

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

    /// Takes out the owed releases that belong to another master of a Cluster.
    pub(in crate::redis) fn take_owed(&self, is_misplaced: impl Fn(&Call) -> bool) -> Vec<Owed> {
        let mut state = self.state.lock();
        let owed = std::mem::take(&mut state.owed).into_iter();
        let (misplaced, kept): (Vec<_>, _) = owed.partition(|it| is_misplaced(&it.call));
        state.owed = kept.into();
        misplaced
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
        let is_any = owed.any(|owed| owed.until > now && !owed.is_answered);
        state.outstanding == 0 && state.retried == 0 && !is_any
    }
}
