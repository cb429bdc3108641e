//! Without a resource there is nothing to lock.
use redlock_runtime::{LockError, redlock};

#[redlock]
async fn bare() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = bare();
}
