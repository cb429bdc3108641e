//! Recursion without a box: rustc's one error for each function, at its signature.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{n}")]
async fn down(n: u64) -> Result<u64, LockError> {
    if n == 0 {
        return Ok(0);
    }
    down(n - 1).await
}

fn main() {
    let _ = down(1);
}
