//! Paths to the runtime that would mean something else in another module.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", crate = redlock_runtime)]
async fn relative() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", crate)]
async fn nothing() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (relative(), nothing());
}
