//! `Send` is inferred: there where the body allows it, never asked for where it does not.
#![deny(warnings)]
#![allow(dead_code)]

use std::rc::Rc;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{id}", guard = lease)]
async fn sendable(id: u64) -> Result<u64, LockError> {
    tokio::task::yield_now().await;
    let _ = lease.resource();
    Ok(id)
}

#[redlock(resource = "{id}:{pair.0}")]
async fn sendable_with_fields(id: String, pair: (u8, u8)) -> Result<u8, LockError> {
    tokio::task::yield_now().await;
    drop(id);
    Ok(pair.1)
}

#[redlock(resource = "{shared}")]
async fn local(shared: Rc<u64>) -> Result<u64, LockError> {
    let other = Rc::clone(&shared);
    tokio::task::yield_now().await;
    Ok(*other)
}

async fn spawns() {
    let _ = tokio::spawn(sendable(1)).await;
    let _ = tokio::spawn(sendable_with_fields("a".into(), (1, 2))).await;
}

fn main() {}
