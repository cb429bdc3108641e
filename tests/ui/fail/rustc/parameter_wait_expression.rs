//! A `wait` whose expression is no duration: rustc's own error, at the expression.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", wait = seconds * 1000)]
async fn milliseconds(seconds: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = wait)]
async fn reference(wait: &redlock_runtime::parameters::Wait) -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (milliseconds(1), reference(&redlock_runtime::parameters::Wait::Forever));
}
