//! Waits for the first of two futures, with a preference for the first.

use std::future::Future;

use super::{Clock, Moment};

/// Waits for `work` until `until`. If both are ready, `work` wins, so that a seed reproduces a run.
///
/// Returns `None` if the time ran out. Dropping the future drops `work`.
pub(crate) async fn before<W: Future>(
    clock: &dyn Clock,
    until: Moment,
    work: W,
) -> Option<W::Output> {
    tokio::select! {
        biased;
        output = work => Some(output),
        // There is no timer until the work has to wait.
        () = async { clock.sleep_until(until).await } => None,
    }
}
