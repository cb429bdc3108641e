//! Constants of the wrong type: shown at the constant.
use redlock_runtime::{LockError, redlock};

const NUMBER: u8 = 1;
const POOLS: [&str; 1] = ["a"];

#[redlock(resource = "a", pools = NUMBER, name = POOLS)]
async fn constants() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = ["a", NUMBER], fencing = NUMBER)]
async fn elements() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = MISSING, name = MISSING)]
async fn missing() -> Result<(), LockError> {
    Ok(())
}

enum Wait {
    Forever,
}

#[redlock(resource = "a", wait = Wait::Forever)]
async fn of_another_type() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (constants(), elements(), missing(), of_another_type(), Wait::Forever);
}
