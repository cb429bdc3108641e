//! Closures and trait objects returned, from every way out of the body.
#![deny(warnings)]
#![allow(dead_code, clippy::type_complexity)]

use std::any::Any;
use std::fmt::{Debug, Display};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{n}")]
async fn closure(n: u64) -> Result<impl Fn(u64) -> u64 + Send, LockError> {
    Ok(move |m| n + m)
}

#[redlock(resource = "{n}")]
async fn closure_with_a_lifetime(n: &u64) -> Result<impl Fn(&str) -> u64 + '_, LockError> {
    Ok(|text: &str| *n + text.len() as u64)
}

#[redlock(resource = "{n}")]
async fn boxed_closure(n: u64) -> Result<Box<dyn Fn(u64) -> u64 + Send>, LockError> {
    if n == 0 {
        return Ok(Box::new(|m| m));
    }
    match n {
        1 => Ok(Box::new(|m| m + 1)),
        _ => Ok(Box::new(move |m| n + m)),
    }
}

#[redlock(resource = "once")]
async fn once(text: String) -> Result<Box<dyn FnOnce() -> String>, LockError> {
    Ok(Box::new(|| text))
}

#[redlock(resource = "shared")]
async fn shared(n: u64) -> Result<(Arc<dyn Display>, Rc<dyn Debug>), LockError> {
    Ok((Arc::new(n), Rc::new(n)))
}

#[redlock(resource = "borrowed")]
async fn borrowed<'a>(n: &'a u64, s: &'a [u64; 3]) -> Result<(&'a dyn Debug, &'a [u64]), LockError> {
    Ok((n, s))
}

#[redlock(resource = "future")]
async fn future(n: u8) -> Result<Pin<Box<dyn Future<Output = u8> + Send>>, LockError> {
    Ok(Box::pin(async move { n }))
}

#[redlock(resource = "opaque")]
async fn opaque_future(n: u8) -> Result<impl Future<Output = u8>, LockError> {
    Ok(async move { n })
}

#[redlock(resource = "many")]
async fn many(n: u8) -> Result<Vec<Box<dyn Any>>, Box<dyn std::error::Error + Send + Sync>> {
    if n == 0 {
        return Err("zero".into());
    }
    Ok(vec![Box::new(n), Box::new("text")])
}

#[redlock(resource = "arguments")]
async fn arguments(
    boxed: Box<dyn Fn(u8) -> u8>,
    borrowed: &(dyn Display + Sync),
    called: &mut dyn FnMut(u8),
    function: fn(u8) -> u8,
) -> Result<String, LockError> {
    called(boxed(1) + function(2));
    Ok(borrowed.to_string())
}

fn main() {}
