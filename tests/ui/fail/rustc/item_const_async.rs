//! `const async`, which no function can be: rustc's one error.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
const async fn constant() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = constant();
}
