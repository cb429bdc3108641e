//! Tells a waiting caller that permits have become free.

use std::future::{Future, poll_fn};
use std::task::Poll;

use super::QuorumWatch;

/// What a refused caller waits for.
pub(crate) enum FreeWatch {
    /// The keys of a plain lock.
    One(QuorumWatch),
    /// One of these permits. Each is watched by itself: a majority of the nodes with a free permit each need
    /// not have the same one.
    Permits(Vec<QuorumWatch>),
}

impl FreeWatch {
    /// True if fewer nodes than a majority would tell of the lock's release now, or of the release of any one permit.
    pub(crate) fn is_blind(&self) -> bool {
        match self {
            Self::One(watch) => watch.is_blind(),
            Self::Permits(each) => each.iter().any(QuorumWatch::is_blind),
        }
    }

    /// Completes when an attempt may win: see [`QuorumWatch::free`].
    pub(crate) async fn free(&self) {
        let each = match self {
            Self::One(watch) => return watch.free().await,
            Self::Permits(each) => each,
        };
        let mut waiting: Vec<_> = each.iter().map(|one| Box::pin(one.free())).collect();
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
