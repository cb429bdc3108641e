//! A time that the lock is kept at least, longer than the nodes keep it at most.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = "1m", min_hold = "61s")]
async fn above_the_ttl() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", min_hold = "long")]
async fn no_duration() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (above_the_ttl(), no_duration());
}
