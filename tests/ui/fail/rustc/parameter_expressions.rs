//! Expressions of the wrong type are shown where they are.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = ms)]
async fn ttl(ms: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", retry_count = count)]
async fn retry_count(count: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = missing)]
async fn unknown() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (ttl(1), retry_count(1), unknown());
}
