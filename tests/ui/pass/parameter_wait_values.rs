//! `wait`, with every kind of value it takes.
#![deny(warnings)]
#![allow(dead_code)]

use std::time::Duration;

use redlock_runtime::parameters::Wait;
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", wait = 5_000)]
async fn milliseconds() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = "1m30s", retry_delay = "50ms")]
async fn text() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = "forever")]
async fn forever() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = budget.min(Duration::from_secs(5)))]
async fn expression(budget: Duration) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = wait)]
async fn variable(wait: Wait) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", wait = *wait, if_locked = "skip")]
async fn reference(wait: &Wait) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
