//! Whatever is `Into<Resource>` names the lock.
#![deny(warnings)]
#![allow(dead_code, clippy::redundant_closure_call)]

use std::borrow::Cow;

use redlock_runtime::{LockError, Resource, redlock};

macro_rules! named_by {
    ($($function:ident($name:ident: $ty:ty) => $resource:expr;)*) => {
        $(
            #[redlock(resource = $resource)]
            async fn $function($name: $ty) -> Result<(), LockError> {
                Ok(())
            }
        )*
    };
}

named_by! {
    text(name: &str) => name;
    owned_text(name: String) => name;
    borrowed_text(name: &String) => name;
    bytes(name: &[u8]) => name;
    owned_bytes(name: Vec<u8>) => name;
    array_of_bytes(name: &[u8; 4]) => name;
    resource(name: Resource) => name;
    borrowed_resource(name: &Resource) => name;
    copied(name: Cow<'_, str>) => name.into_owned();
    two(name: [&str; 2]) => name;
    many(name: Vec<String>) => name;
    of_its_own(name: Order) => name;
    borrowed_of_its_own(name: &Order) => name;
    anything(name: impl Into<Resource>) => name;
}

#[redlock(resource = b"bytes\x00\xff")]
async fn literal_bytes() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = { let id = order.id + 1; format!("order:{id}") })]
async fn block(order: &Order) -> Result<u64, LockError> {
    Ok(order.id)
}

#[redlock(resource = <Order as Into<Resource>>::into(Order { id, ..Order::NONE }))]
async fn qualified(id: u64) -> Result<(), LockError> {
    Ok(())
}

struct Order {
    id: u64,
    other: u64,
}

impl Order {
    const NONE: Self = Self { id: 0, other: 0 };
}

impl From<&Order> for Resource {
    fn from(order: &Order) -> Self {
        format!("order:{}{}", order.id, order.other).into()
    }
}

impl From<Order> for Resource {
    fn from(order: Order) -> Self {
        (&order).into()
    }
}

fn main() {}
