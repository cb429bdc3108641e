//! A resource is a value of any type that is `Into<Resource>`.
use redlock_runtime::{LockError, redlock};

struct Order;

#[redlock(resource = order)]
async fn resource(order: Order) -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = resource(Order);
}
