//! The second of two is the one too many.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = 50, resource = "b", ttl = 50)]
async fn f() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = f();
}
