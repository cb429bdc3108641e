//! In a crate without `std`, to which there is no path then.
#![deny(warnings)]
#![allow(dead_code)]
#![no_std]

use core::time::Duration;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "order:{id}", ttl = Duration::from_secs(5), guard = lease)]
async fn one(id: u64) -> Result<u64, LockError> {
    let _ = lease.resource();
    Ok(id)
}

#[redlock(resource = ["account:{from}", "account:{to.0}"])]
async fn several(from: u64, to: (u64,)) -> Result<u64, LockError> {
    Ok(from + to.0)
}

fn main() {}
