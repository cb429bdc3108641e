//! What keeps a future from being `Send` is shown inside the body.
use std::rc::Rc;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "local")]
async fn local() -> Result<u64, LockError> {
    let here = Rc::new(1);
    tokio::task::yield_now().await;
    Ok(*here)
}

fn main() {
    let _ = tokio::spawn(local());
}
