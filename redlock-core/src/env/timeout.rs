//! Waits for the first of two futures, with a preference for the first.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Clock, Moment, Sleep};

/// Waits for `work` until `until`. The timer is made only if `work` has to wait. If both are ready,
/// `work` wins, so that a seed reproduces a run.
///
/// Returns `None` if the time ran out. Dropping the future drops `work`.
pub(crate) fn before<W: Future + Unpin>(
    clock: &dyn Clock,
    until: Moment,
    work: W,
) -> Before<'_, W> {
    Before {
        clock,
        until,
        work,
        timer: None,
    }
}

/// See [`before`]. Written by hand, as an `async fn` is nearly twice as large, and this future is a
/// part of every acquisition.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Before<'a, W> {
    clock: &'a dyn Clock,
    until: Moment,
    work: W,
    timer: Option<Sleep>,
}

impl<W: Future + Unpin> Future for Before<'_, W> {
    type Output = Option<W::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(output) = Pin::new(&mut this.work).poll(context) {
            return Poll::Ready(Some(output));
        }
        let (clock, until) = (this.clock, this.until);
        let timer = this.timer.get_or_insert_with(|| clock.sleep_until(until));
        Pin::new(timer).poll(context).map(|()| None)
    }
}
