//! Times that no lock can have: refused when the function is compiled.
use redlock_runtime::{LockError, redlock};

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
}
