//! rustc does not offer a similar name for the whole literal.
use redlock_runtime::{LockError, locked, redlock};

struct Order {
    id: u64,
}

static ORDER: Order = Order { id: 1 };
static LIMIT: u64 = ORDER.id;

#[redlock(resource = "{ODER.id}:{ORDERS.id}")]
async fn field_of_a_static(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{LIMTI:part}")]
async fn part() -> Result<u64, LockError> {
    Ok(LIMIT)
}

#[redlock(resource = "{LIMTI}:{limit:part}")]
async fn beside_a_part(limit: u64) -> Result<u64, LockError> {
    Ok(limit)
}

async fn in_a_block(order: Order, title: String) -> Result<u64, LockError> {
    locked!(resource = "{oder.id}", async { order.id }).await?;
    locked!(resource = "{ODER.id}", async { order.id }).await?;
    locked!(resource = ["{titel:part}", "{titel}:{order.id}"], async { title.len() }).await?;
    locked!(resource = "{titel}", async { order.id }).await
}

fn main() {
    let _ = (field_of_a_static(1), part(), beside_a_part(1), in_a_block(Order { id: 1 }, String::new()));
}
