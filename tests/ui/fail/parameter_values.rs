//! Values of the wrong kind, for the other parameters.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = 5)]
async fn resource() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", retry_count = "3", retry_delay = -5)]
async fn retry() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", retry_count = 4294967296, retry_delay = true)]
async fn more_retry() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", clock_drift_factor = 1)]
async fn drift() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", clock_drift_factor = -0.1)]
async fn negative_drift() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", on_lost = cancel, name = charge)]
async fn words() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", on_lost = "contine", name = "")]
async fn more_words() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (resource(), retry(), more_retry(), drift(), negative_drift());
    let _ = (words(), more_words());
}
