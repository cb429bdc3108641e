//! Every other parameter that takes an expression: the wrong type is shown at the expression.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", retry_delay = 1 + 1)]
async fn retry_delay() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", clock_drift_factor = "text".len())]
async fn clock_drift_factor() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", min_validity = "text".len())]
async fn min_validity() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", max_hold = 60.0 * 1.0)]
async fn max_hold() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = [id, id])]
async fn array(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "a", ttl = if id == 0 { "1s" } else { "2s" })]
async fn branches(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "a", ttl = seconds(id)?)]
async fn fails_with_another_error(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn seconds(n: u64) -> Result<std::time::Duration, std::fmt::Error> {
    Ok(std::time::Duration::from_secs(n))
}

fn main() {
    let _ = (retry_delay(), clock_drift_factor(), min_validity(), max_hold(), array(1), branches(1));
    let _ = fails_with_another_error(1);
}
