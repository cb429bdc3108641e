//! Placeholders have names.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "order:{0:08}")]
async fn index(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:{id")]
async fn unclosed(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:id}")]
async fn unopened(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:{order.id()}")]
async fn call(order: u64) -> Result<u64, LockError> {
    Ok(order)
}

fn main() {
    let _ = (index(1), unclosed(1), unopened(1), call(1));
}
