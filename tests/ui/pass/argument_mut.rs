//! A parameter that only the body mutates is not an unused `mut`.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "n")]
async fn counts(mut n: u64) -> Result<u64, LockError> {
    while n < 10 {
        n += 1;
    }
    Ok(n)
}

#[redlock(resource = "n:{n}")]
async fn counts_what_names_it(mut n: u64) -> Result<u64, LockError> {
    n += 1;
    Ok(n)
}

#[redlock(resource = "v")]
async fn pushes(mut v: Vec<u8>, (mut a, b): (u8, u8)) -> Result<Vec<u8>, LockError> {
    a += b;
    v.push(a);
    Ok(v)
}

fn main() {}
