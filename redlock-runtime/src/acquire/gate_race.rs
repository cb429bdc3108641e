//! Races an acquisition against the gate that a shutdown closes.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use crate::error::LockErrorKind;
use crate::registry::held::HeldTable;

/// Waits for `acquisition`, but fails with `ShuttingDown` once the gate of `held` closes.
///
/// * The gate is polled first. Otherwise, when callers leave at a shutdown, each waiter that gets a turn would ask the
///   nodes before it leaves too. Polling the gate registers the waker, so a gate that closes right after causes another
///   poll.
/// * Dropping the acquisition releases a lock that was won unseen. If the gate closes after a lock was seen, the table
///   refuses its entry under the table's mutex.
/// * A call below a held lease passes a closed gate, because the shutdown waits for the work under that lease.
///   `is_below` is called at each poll, because the lease may end while the call waits.
/// * The caller drops the acquisition before the value of [`HeldTable::begin_acquisition`]. So when a shutdown finds no
///   acquisition under way, all releases have been sent.
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
