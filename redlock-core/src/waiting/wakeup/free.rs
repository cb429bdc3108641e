//! Tells a waiting caller that a lock has become free.

use std::future::{Future, poll_fn};
use std::task::Poll;

use super::QuorumWatch;

/// What a refused caller waits for: one of these watches has to find its keys free.
pub(crate) struct FreeWatch(pub(crate) Vec<QuorumWatch>);

impl FreeWatch {
    /// True if fewer nodes than a majority would tell of the lock's release now, or of the release of any one of
    /// several.
    pub(crate) fn is_blind(&self) -> bool {
        self.0.iter().any(QuorumWatch::is_blind)
    }

    /// Completes when an attempt may win: see [`QuorumWatch::free`].
    pub(crate) async fn free(&self) {
        if let [only] = &self.0[..] {
            return only.free().await;
        }
        let mut waiting: Vec<_> = self.0.iter().map(|one| Box::pin(one.free())).collect();
        poll_fn(|context| {
            let mut each = waiting.iter_mut();
            if each.any(|one| one.as_mut().poll(context).is_ready()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}
