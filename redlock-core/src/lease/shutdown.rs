//! Ends leases for the shutdown of a process, which the runtime's registry conducts. A handle by itself ends none.

use crate::error::LeaseEnd;

use super::lease::wait_for_release;
use super::{LeaseHandle, Released};

/// Tells the callers of [`LeaseHandle::expiring`] that the process is about to end. The lease stays valid.
pub fn announce_shutdown(lease: &LeaseHandle) {
    lease.shared.announce_shutdown();
}

/// Revokes the lease: a holder that runs a body under it cancels the body, also a body that goes on
/// after the lease was lost. If the lease was valid, `lost` returns [`LeaseEnd::Revoked`]. The keys
/// stay until the holder releases them, so that no other caller gets the lock while the body still
/// runs.
pub fn revoke(lease: &LeaseHandle) {
    lease.shared.revoke();
}

/// Ends the lease for all holders and sends the release. For a process that is about to end, and a
/// lease without a body to wait for.
///
/// # Cancellation
/// The release is sent at the first poll. A later drop only ends the waiting.
pub async fn revoke_and_release(lease: &LeaseHandle) -> Released {
    let sent = lease.shared.release(LeaseEnd::Revoked, u32::MAX);
    wait_for_release(&lease.shared, sent).await
}
