//! When to give up: values that are none, and two answers to one question.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", retry_count = 3, wait = "5s")]
async fn both() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = 0)]
async fn no_time() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = "always")]
async fn no_duration() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = true)]
async fn no_time_at_all() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (both(), no_time(), no_duration(), no_time_at_all());
}
