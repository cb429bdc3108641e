//! The body of `main` starts the registry, which the attribute would need before.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "main")]
#[tokio::main]
async fn main() -> Result<(), LockError> {
    Ok(())
}
