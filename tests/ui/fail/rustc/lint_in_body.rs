//! Lints about the user's code, at the user's code.
#![deny(warnings)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", guard = lease)]
async fn unused(parameter: u8, mut n: u64) -> Result<u64, LockError> {
    let local = 1;
    return Ok(n);
    "1".parse::<u8>();
}

#[redlock(resource = "a")]
async fn never_called() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    unused(1, 2);
}
