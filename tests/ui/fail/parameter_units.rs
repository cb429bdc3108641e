//! Durations without a unit, with an unknown one, and with one in the wrong place.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = "60")]
async fn none() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", retry_delay = "")]
async fn empty() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = "1 fortnight")]
async fn unknown() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", min_validity = "-5s")]
async fn negative() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", max_hold = 1h, retry_delay = 50ms, retry_count = 3x)]
async fn suffixes() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", clock_drift_factor = 0.5f32, min_validity = 0.5f32)]
async fn narrow() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", max_hold = "unlimitted")]
async fn misspelled() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (none(), empty(), unknown(), negative(), suffixes(), narrow(), misspelled());
}
