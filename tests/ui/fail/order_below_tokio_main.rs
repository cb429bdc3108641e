//! `#[tokio::main]` above has made the function synchronous before `#[redlock]` sees it.
use redlock_runtime::{LockError, redlock};

#[tokio::main(flavor = "current_thread")]
#[redlock(resource = "entry")]
async fn main() -> Result<(), LockError> {
    Ok(())
}
