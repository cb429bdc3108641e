//! The lease cannot outlive the body: it ends with the lock.
use redlock_runtime::{Lease, LockError, redlock};

#[redlock(resource = "a", guard = lease)]
async fn keeps_the_lease() -> Result<&'static Lease, LockError> {
    Ok(lease)
}

fn main() {
    let _ = keeps_the_lease();
}
