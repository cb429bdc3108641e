//! The race of an acquisition against the gate that a shutdown closes.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use crate::error::LockErrorKind;
use crate::registry::held::HeldTable;

/// Waits for `acquisition`, or for the gate of `held`, which refuses the call when it closes.
///
/// * The gate is polled first. Otherwise each waiter that gets the turn of a caller that left would ask the nodes, and
///   then leave. The gate's waker is registered before, so a closing during the poll causes another poll.
/// * The drop of the acquisition releases a lock that was won unseen. If the gate closes after one was seen, the table
///   refuses its entry under its mutex.
/// * A call below a held lease passes a closed gate, because the shutdown waits for the work under that lease.
///   `is_below` is asked at each poll, because the lease may end while the call waits.
/// * The caller drops the acquisition before the value of [`HeldTable::begin_acquisition`]. So a shutdown
///   that finds no acquisition under way finds all releases sent.
pub(super) async fn race_gate<T>(
    held: &HeldTable,
    is_below: impl Fn() -> bool,
    mut acquisition: Pin<&mut impl Future<Output = Result<T, LockErrorKind>>>,
) -> Result<T, LockErrorKind> {
    let mut closed = pin!(held.closed.wait());
    poll_fn(|context| {
        if !is_below() && closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(LockErrorKind::ShuttingDown));
        }
        acquisition.as_mut().poll(context)
    })
    .await
}
