//! `impl Trait`, in and out.
#![deny(warnings)]
#![allow(dead_code, clippy::elidable_lifetime_names)]

use std::fmt::Display;

use redlock_runtime::{LockError, redlock};

trait IntoResponse {}
impl IntoResponse for String {}

#[redlock(resource = "{id}")]
async fn out(id: u64) -> Result<impl IntoResponse, LockError> {
    if id == 0 {
        return Ok(String::new());
    }
    Ok(id.to_string())
}

#[redlock(resource = "{id}")]
async fn inwards(id: impl Display + Clone) -> Result<(), LockError> {
    let _ = id.clone();
    Ok(())
}

#[redlock(resource = "{id}")]
async fn nested<'a>(id: &'a u64) -> Result<(impl Iterator<Item = u64> + 'a, Vec<impl Display>), LockError> {
    Ok(((0..*id).map(move |n| n + id), vec![id]))
}

#[redlock(resource = "whole")]
async fn whole() -> impl Into<Result<u8, LockError>> {
    Ok::<u8, LockError>(1)
}

fn main() {}
