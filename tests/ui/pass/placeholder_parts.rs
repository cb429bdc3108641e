//! Placeholders whose value becomes one part of the name.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

struct Order {
    title: String,
}

const TENANT: &str = "acme";
static SHARD: u8 = 1;

#[redlock(resource = "{tenant:part}:{order.title:part}:{ tenant : part }")]
async fn names_and_fields(tenant: &str, order: Order) -> Result<Order, LockError> {
    Ok(order)
}

#[redlock(resource = "{TENANT:part}:{SHARD:part}:{id}:{id:part}")]
async fn constants(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = ["{type:part}", "{größe:part}:{type}"])]
async fn keywords(r#type: String, größe: &str) -> Result<String, LockError> {
    Ok(format!("{type}{größe}"))
}

impl Order {
    #[redlock(resource = "{self.title:part}:{of:part}")]
    async fn method<T: std::fmt::Display>(&self, of: T) -> Result<T, LockError> {
        Ok(of)
    }
}

/// A parameter of that name, in its other meaning.
#[redlock(resource = "{id:>part$}")]
async fn width(id: u64, part: usize) -> Result<usize, LockError> {
    Ok(part)
}

fn main() {}
