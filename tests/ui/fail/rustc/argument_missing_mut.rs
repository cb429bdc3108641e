//! The `mut` that is missing is the parameter's.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{n}")]
async fn f(n: u64) -> Result<u64, LockError> {
    n += 1;
    Ok(n)
}

fn main() {
    let _ = f(1);
}
