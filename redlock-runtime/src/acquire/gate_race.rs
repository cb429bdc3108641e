//! The race of an acquisition against the gate that a shutdown closes.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use crate::error::LockErrorKind;
use crate::registry::held::HeldTable;

/// Waits for `acquisition`, or for the gate of `held`, which refuses the call when it closes.
///
/// * The acquisition is polled first. A lock that was won is handed to the caller, who enters or releases it. The table
///   decides under its mutex whether the gate had closed.
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
    poll_fn(|context| match acquisition.as_mut().poll(context) {
        Poll::Pending if !is_below() => {
            let closed = closed.as_mut().poll(context);
            closed.map(|()| Err(LockErrorKind::ShuttingDown))
        }
        polled => polled,
    })
    .await
}
