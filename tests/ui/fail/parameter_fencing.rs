//! A mistake beside `fencing = true`: the token that the body uses is no second one.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", fencing = true, guard = lease, tll = "5s")]
async fn fenced() -> Result<i64, LockError> {
    Ok(lease.fencing_token().as_i64())
}

fn main() {
    let _ = fenced();
}
