//! A time limit for a future, by a [`Clock`].

use std::future::Future;

use super::{Clock, Moment};

/// Waits for `work`, until `until` at the latest. Returns `None` if the time ran out. If both are ready, `work` always wins,
/// so that the seed of a simulation reproduces its run.
///
/// Dropping the future drops `work`.
pub(crate) async fn before<W: Future>(
    clock: &dyn Clock,
    until: Moment,
    work: W,
) -> Option<W::Output> {
    tokio::select! {
        biased;
        output = work => Some(output),
        // The timer is made only once the work has to wait.
        () = async { clock.sleep_until(until).await } => None,
    }
}
