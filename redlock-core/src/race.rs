//! Waiting for the first of two, the first one preferred.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::environment::{Clock, Moment};

/// Waits for `work`, but not beyond `until`. The timer is made only once `work` has to wait, and
/// `work` is preferred where both are ready, so that a seed reproduces a run.
///
/// Returns `None` where the time ran out. Dropping the future drops `work`.
pub(crate) async fn before<W: Future>(
    clock: &dyn Clock,
    until: Moment,
    work: W,
) -> Option<W::Output> {
    let mut work = pin!(work);
    let mut timer = None;
    poll_fn(|context| {
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        timer
            .get_or_insert_with(|| clock.sleep_until(until))
            .as_mut()
            .poll(context)
            .map(|()| None)
    })
    .await
}
