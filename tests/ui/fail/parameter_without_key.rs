//! Values without their key, keys in quotes, and keys by another name: one error for each slip.
#![deny(warnings)]

use redlock_runtime::{LockError, redlock};

#[redlock(key = "order:{id}")]
async fn another_name(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "order:{}", id)]
async fn arguments(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock("resource" = "order:{id}")]
async fn quoted(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (another_name(1), arguments(1), quoted(1));
}
