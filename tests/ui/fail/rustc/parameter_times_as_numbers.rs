//! A number in an expression has no unit: the error says how to write a time.
use std::time::Duration;

use redlock_runtime::{LockError, redlock};

const SECONDS: u64 = 60;

#[redlock(resource = "a", ttl = SECONDS)]
async fn constant() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = 5 * 1000)]
async fn product() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = "5s".to_owned())]
async fn text() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", min_validity = 2 * SECONDS)]
async fn or_a_fraction() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = Duration::from_secs(SECONDS), wait = 2 * Duration::from_millis(5))]
async fn right() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (constant(), product(), text(), or_a_fraction(), right());
}
