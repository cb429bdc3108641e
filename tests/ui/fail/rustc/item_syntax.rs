//! Functions that rustc cannot read: only its own error is shown.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "order:{id}", guard = lease)]
async fn no_colon(id u64) -> Result<(), LockError> {
    let _ = lease;
    Ok(())
}

#[redlock(resource = "order:{id}")]
async fn two_commas(id: u64,, other: u64) -> Result<u64, LockError> {
    Ok(id + other)
}

fn main() {}
