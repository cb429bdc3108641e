//! Parts of a name without a name of their own.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{:part}")]
async fn no_name(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{i-d:part}")]
async fn no_identifier(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{order.part}:{id.:part}")]
async fn no_field(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{id:prat}")]
async fn misspelled(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{order.id:Part}")]
async fn capital(order: Order) -> Result<u64, LockError> {
    Ok(order.id)
}

struct Order {
    id: u64,
}

fn main() {
    let _ = (misspelled(1), capital(Order { id: 1 }));
    let _ = (no_name(1), no_identifier(1), no_field(1));
}
