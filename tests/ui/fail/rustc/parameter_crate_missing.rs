//! A runtime that is not where `crate` says: one error, at the part of the path that is missing.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = 50, crate = ::missing_runtime)]
async fn no_such_crate() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a:{id}", "b"], guard = lease, crate = crate::vendor::locks)]
async fn no_such_module(id: u64) -> Result<u64, LockError> {
    let _ = lease;
    Ok(id)
}

fn main() {
    let _ = (no_such_crate(), no_such_module(1));
}
