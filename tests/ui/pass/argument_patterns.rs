//! Parameters that are patterns, as axum's extractors are, name the resource like any other.
#![deny(warnings)]
#![allow(dead_code)]

use std::sync::Arc;

use redlock_runtime::{LockError, redlock};

struct State<T>(T);
struct Path<T>(T);
struct App {
    name: String,
}
struct Order {
    id: u64,
    lines: [u32; 2],
}

#[redlock(resource = "order:{id}")]
async fn extractors(State(app): State<Arc<App>>, Path(id): Path<u64>) -> Result<String, LockError> {
    Ok(format!("{}{id}", app.name))
}

#[redlock(resource = "order:{tenant}:{id}:{first}")]
async fn structs(
    Order { id, lines: [first, _] }: Order,
    (tenant, _): (u32, u32),
    &flag: &bool,
) -> Result<bool, LockError> {
    Ok(flag)
}

#[redlock(resource = "order:{app.name}:{order.id}")]
async fn dotted(State(app): State<Arc<App>>, Path(order): Path<Order>) -> Result<u32, LockError> {
    drop(app);
    Ok(order.lines[0])
}

#[redlock(resource = "ignored")]
async fn ignored(_: u64, _named: u64) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
