//! Without a resource there is nothing to lock.
use redlock_runtime::{LockError, redlock};

#[redlock]
async fn bare() -> Result<(), LockError> {
    Ok(())
}

#[redlock()]
async fn empty() -> Result<(), LockError> {
    Ok(())
}

#[redlock(ttl = 60_000)]
async fn others_only() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (bare(), empty(), others_only());
}
