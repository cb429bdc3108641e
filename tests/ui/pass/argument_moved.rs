//! The resource is made before the body can move or drop the argument it is made of.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "o:{key}")]
async fn dropped(key: String) -> Result<(), LockError> {
    drop(key);
    Ok(())
}

#[redlock(resource = "o:{key}")]
async fn handed_on(key: String) -> Result<String, LockError> {
    Ok(key)
}

#[redlock(resource = key.as_str())]
async fn borrowed_by_an_expression(key: String) -> Result<String, LockError> {
    Ok(key)
}

fn main() {}
