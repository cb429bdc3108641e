//! Ends leases when the process shuts down. The runtime's registry calls these functions. [`LeaseHandle`] lacks
//! them, so that code with a handle alone cannot revoke a lease.

use crate::error::LeaseEnd;

use super::lease::wait_for_release;
use super::{LeaseHandle, Released};

/// Announces to callers of [`LeaseHandle::expiring`] that the process is about to end. The lease stays valid.
pub fn announce_shutdown(lease: &LeaseHandle) {
    lease.shared.announce_shutdown();
}

/// Revokes the lease. The holder then cancels the body, even a body that continues after a loss. If the lease was
/// valid, `lost` returns [`LeaseEnd::Revoked`]. The keys stay until the holder releases them, so that no other caller
/// gets the lock while the body still runs.
pub fn revoke(lease: &LeaseHandle) {
    lease.shared.revoke();
}

/// Ends the lease for all holders, and sends the release. Use it when the process is about to end, and the lease has no
/// body to wait for.
///
/// # Cancellation
/// The release is sent at the first poll. A later drop only ends the waiting.
pub async fn revoke_and_release(lease: &LeaseHandle) -> Released {
    let sent = lease.shared.release(LeaseEnd::Revoked, u32::MAX);
    wait_for_release(&lease.shared, sent).await
}
