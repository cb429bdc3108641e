//! Above the attributes that make an async function synchronous.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "entry")]
#[tokio::main(flavor = "current_thread")]
async fn entry() -> Result<(), LockError> {
    std::future::ready(()).await;
    Ok(())
}

fn main() {}
