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

fn main() {
    let _ = (attribute(), attribute_and_function());
}
