//! Placeholders as in a shell or in JavaScript.
use redlock_runtime::{LockError, redlock};

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
    let _ = (dollar(1), several(1, &Order { price: 1 }));
}
