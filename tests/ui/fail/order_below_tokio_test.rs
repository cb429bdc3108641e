//! `#[tokio::test]` above has made the function synchronous before `#[redlock]` sees it.
use redlock_runtime::{LockError, redlock};

#[tokio::test]
#[redlock(resource = "case")]
async fn case() -> Result<(), LockError> {
    Ok(())
}

fn main() {}
