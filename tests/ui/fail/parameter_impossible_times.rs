//! Times that no lock can have: refused when the function is compiled.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = "10s", min_validity = "20s")]
async fn never_valid_enough() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = "10500us")]
async fn no_whole_milliseconds() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = "2y")]
async fn above_a_year() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", max_hold = 0)]
async fn held_for_nothing() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (never_valid_enough(), no_whole_milliseconds(), above_a_year(), held_for_nothing());
}
