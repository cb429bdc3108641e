//! Values without their key, keys in quotes, and keys by another name: one error for each slip.
#![deny(warnings)]

use redlock_runtime::{LockError, redlock};

#[redlock(key = "order:{id}")]
async fn another_name(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock("order:{}:{}", id, order.id, ttl = 50)]
async fn as_for_format(id: u64) -> Result<(), LockError> {
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

#[redlock(format!("order:{id}"))]
async fn expression(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(id)]
async fn parameter(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock]
async fn nothing(id: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (another_name(1), as_for_format(1), arguments(1), quoted(1), expression(1));
    let _ = (parameter(1), nothing(1));
}
