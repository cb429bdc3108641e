//! Borrow errors read as they would without a lock.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
async fn dangling() -> Result<&'static str, LockError> {
    let owned = String::new();
    Ok(&owned)
}

#[redlock(resource = "a")]
async fn escapes(short: &str) -> Result<&'static str, LockError> {
    Ok(short)
}

fn main() {
    let _ = (dangling(), escapes(""));
}
