//! The declared type reaches the body's end and every `return`, as in a plain function.
#![deny(warnings)]
#![allow(dead_code)]

use std::collections::HashMap;
use std::fmt::Debug;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "r")]
async fn collected(words: &[(u8, u8)]) -> Result<HashMap<u8, u8>, LockError> {
    if words.is_empty() {
        return Ok(HashMap::default());
    }
    Ok(words.iter().copied().collect())
}

#[redlock(resource = "r")]
async fn unsized_box(n: u8) -> Result<Box<dyn Debug + Send>, LockError> {
    if n == 0 {
        return Ok(Box::new("zero"));
    }
    Ok(Box::new(n))
}

#[redlock(resource = "r")]
async fn function_pointers(n: u8) -> Result<fn(u8) -> u8, LockError> {
    match n {
        0 => Ok(|n| n),
        _ => Ok(|n| n + 1),
    }
}

#[redlock(resource = "r")]
async fn parsed(text: &str) -> Result<u16, Box<dyn std::error::Error>> {
    return Ok(text.parse()?);
}

#[redlock(resource = "r")]
async fn none() -> Result<Option<u8>, LockError> {
    Ok(None)
}

fn main() {}
