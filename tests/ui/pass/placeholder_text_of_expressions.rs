//! Strings in an expression: what a macro formats, and braces that name no parameter.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

macro_rules! key {
    ($text:literal) => {
        format!($text)
    };
}

#[redlock(resource = format!("order:{id}"))]
async fn formatted(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = { let list = vec![format!("{id}"), key!("order:{id}")]; list })]
async fn formatted_inside(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = concat!("order:", "{other}", "{}", "id").to_owned())]
async fn other_braces(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = b"order:{other}")]
async fn bytes(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {}
