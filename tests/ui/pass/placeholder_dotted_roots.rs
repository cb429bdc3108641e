//! A dotted placeholder begins with a parameter, a static, a constant or a local variable.
#![deny(warnings)]
#![allow(dead_code, non_snake_case)]

use std::future::Future;

use redlock_runtime::{LockError, redlock};

struct Order {
    größe: u64,
    r#type: u64,
    id: u64,
}

static FIRST_ORDER: Order = Order { größe: 1, r#type: 2, id: 3 };
const PAIR: (u64, u64) = (1, 2);

#[redlock(resource = "{o.größe}:{o.r#type}:{o.type}:{r#match.id:08}")]
async fn names(o: Order, r#match: &Order) -> Result<u64, LockError> {
    Ok(o.größe + r#match.id)
}

#[redlock(resource = "{FIRST_ORDER.id}:{PAIR.0}")]
async fn statics() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["{local.id}", "{local.größe}:{id}"])]
fn locals(id: u64) -> impl Future<Output = Result<u64, LockError>> {
    let local = Order { größe: 1, r#type: 2, id };
    async move { Ok(local.id) }
}

/// A parameter spelt like a constant is a parameter.
#[redlock(resource = "{N.id}")]
async fn parameter(N: Order) -> Result<u64, LockError> {
    Ok(N.id)
}

fn main() {}
