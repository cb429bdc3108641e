//! A caller that drops its future.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// Polls `future` at most `polls` times, each time that it wakes, and then drops it. Returns `None` if
/// `future` was dropped before it had completed.
pub async fn drop_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut left = polls;
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // This was the last poll: the caller drops the future at this await.
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
