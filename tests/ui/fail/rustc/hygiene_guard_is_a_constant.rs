//! A guard with the name of a constant would not bind.
use redlock_runtime::{LockError, redlock};

const LEASE: u8 = 1;

#[redlock(resource = "a", guard = LEASE)]
async fn constant() -> Result<u8, LockError> {
    Ok(LEASE)
}

fn main() {
    let _ = constant();
}
