//! rustc underlines the placeholder itself.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "order:{id}:{oops}")]
async fn f(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:{a b}")]
async fn g() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (f(1), g());
}
