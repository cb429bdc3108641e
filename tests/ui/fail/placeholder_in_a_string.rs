//! A placeholder in a string that is no template.
use redlock_runtime::{LockError, redlock};

struct Order {
    id: u64,
}

#[redlock(resource = "order:{id}".to_string())]
async fn method(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = b"order:{id:08}")]
async fn bytes(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = { let key = r"order:{ id }"; key })]
async fn block(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = if order.id > 1 { "order:{order.id}" } else { "old:{order.id}" })]
async fn both_ways(order: Order) -> Result<u64, LockError> {
    Ok(order.id)
}

#[redlock(resource = concat!("order:", "{id}"))]
async fn concatenated(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = ["a:{id}".to_owned(), format!("b:{id}")])]
async fn array(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

impl Order {
    #[redlock(resource = String::from("order:{self.id}"))]
    async fn receiver(&self) -> Result<u64, LockError> {
        Ok(self.id)
    }
}

fn main() {
    let order = Order { id: 1 };
    let _ = (method(1), bytes(1), block(1), concatenated(1), array(1), order.receiver(), both_ways(Order { id: 1 }));
}
