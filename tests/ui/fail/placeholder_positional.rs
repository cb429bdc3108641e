//! Placeholders have names, and are not spelt as in a shell or in JavaScript.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "order:{0:08}")]
async fn index(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:{id")]
async fn unclosed(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:id}")]
async fn unopened(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:{order.id()}")]
async fn call(order: u64) -> Result<u64, LockError> {
    Ok(order)
}

#[redlock(resource = "order:${id}")]
async fn dollar(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = ["order:{id}", "price:${order.price:08}"])]
async fn several(id: u64, order: &Order) -> Result<u64, LockError> {
    Ok(id + order.price)
}

struct Order {
    price: u64,
}

fn main() {
    let _ = (index(1), unclosed(1), unopened(1), call(1), dollar(1));
    let _ = several(1, &Order { price: 1 });
}
