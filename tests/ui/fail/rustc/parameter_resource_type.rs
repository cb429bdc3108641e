//! A resource is a value of any type that is `Into<Resource>`.
use redlock_runtime::{LockError, redlock};

struct Order;

#[redlock(resource = order)]
async fn resource(order: Order) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = id)]
async fn number(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = name)]
async fn choice(name: Option<String>) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = names)]
async fn list_of_lists(names: Vec<Vec<String>>) -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (resource(Order), number(1), choice(None), list_of_lists(Vec::new()));
}
