//! Every ttl that cannot work, and other times that no lock can have.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = 0)]
async fn zero() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = -60_000)]
async fn negative() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = "soon")]
async fn no_duration() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = 60s)]
async fn suffix() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = 1.5)]
async fn float() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = 99999999999999999999)]
async fn huge() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = "10s", min_validity = "20s")]
async fn never_valid_enough() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", max_hold = 0)]
async fn held_for_nothing() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (never_valid_enough(), held_for_nothing());
    let _ = (zero(), negative(), no_duration());
    let _ = (suffix(), float(), huge());
}
