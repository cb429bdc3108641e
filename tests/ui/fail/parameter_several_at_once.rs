//! One build shows every mistake, each at its own token.
use redlock_runtime::{LockError, redlock};

#[redlock(tll = 5, ttl = 0, pools = [], retry_count = -1, ttl = 6, on_lost = "cancle", guard = 5)]
async fn attribute() -> Result<(), LockError> {
    Ok(())
}

#[redlock(ttl = 0, pools = ["a", "a"])]
fn attribute_and_function() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "order:{oder}:{tenant}", ttl = 0, note = "for {customer}")]
async fn attribute_and_placeholders(order: u64) -> Result<u64, LockError> {
    Ok(order)
}

fn main() {
    let _ = (attribute(), attribute_and_function(), attribute_and_placeholders(1));
}
