//! Tells a waiting caller that permits have become free.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::QuorumWatch;

/// What a refused caller waits for.
pub(crate) enum FreeWatch {
    /// The keys of a plain lock.
    One(QuorumWatch),
    /// As many of these permits as the caller takes. Each is watched by itself: a majority of the nodes with
    /// a free permit each need not have the same one.
    Permits { each: Vec<QuorumWatch>, take: usize },
}

impl FreeWatch {
    pub(crate) fn of_permits(each: impl Iterator<Item = QuorumWatch>, take: u16) -> Self {
        Self::Permits {
            each: each.collect(),
            take: take.into(),
        }
    }

    /// True if fewer nodes than a majority would tell of the lock's release now, or of the release of any one permit.
    pub(crate) fn is_blind(&self) -> bool {
        match self {
            Self::One(watch) => watch.is_blind(),
            Self::Permits { each, .. } => each.iter().any(QuorumWatch::is_blind),
        }
    }

    /// Completes when an attempt may win: see [`QuorumWatch::free`].
    pub(crate) async fn free(&self) {
        let (each, take) = match self {
            Self::One(watch) => return watch.free().await,
            Self::Permits { each, take } => (each, *take),
        };
        let mut waiting: Vec<Pin<Box<_>>> = each.iter().map(|one| Box::pin(one.free())).collect();
        let mut free = 0;
        poll_fn(|context| {
            waiting.retain_mut(|one| {
                let is_free = one.as_mut().poll(context).is_ready();
                free += usize::from(is_free);
                !is_free
            });
            if free >= take {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}
