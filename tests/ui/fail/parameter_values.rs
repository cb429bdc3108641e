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

#[redlock(resource = "a", clock_drift_factor = 1e999)]
async fn endless_drift() -> Result<(), LockError> {
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

#[redlock(resource = "a", guard = "lease", crate = redlock_runtime)]
async fn names() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", guard = self, crate = "::redlock_runtime")]
async fn more_names() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "{id}", guard = id)]
async fn hidden_parameter(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = (resource(), retry(), more_retry(), drift(), negative_drift(), endless_drift());
    let _ = (words(), more_words(), names(), more_names(), hidden_parameter(1));
}
