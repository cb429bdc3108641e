//! The body of `main` starts the registry, which the attribute would need before.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "arguments", guard = lease)]
#[tokio::main(flavor = "current_thread")]
async fn with_arguments() -> Result<(), LockError> {
    let _ = lease.resource();
    Ok(())
}

/// An attribute that is called as those of other runtimes are.
use tokio as other;

#[redlock(resource = "other")]
#[other::main]
async fn of_another_runtime() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "main")]
#[tokio::main]
async fn main() -> Result<(), LockError> {
    let _ = (with_arguments(), of_another_runtime());
    Ok(())
}
