//! Literals of kinds that no parameter takes.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = 'a', name = 'a', pools = ['a'])]
async fn characters() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = b'a', name = b"a", pools = [b"a", c"a"])]
async fn bytes() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = 1.5, on_lost = 1, fencing = "true")]
async fn numbers() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = true, ttl = false, retry_count = 1.0, retry_delay = '1', clock_drift_factor = '1')]
async fn truths() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = b"60s", min_validity = b"1s", max_hold = b"1h", retry_count = b"1")]
async fn durations_of_bytes() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (characters(), bytes(), numbers(), truths(), durations_of_bytes());
}
