//! Pools: named once each, by strings.
use redlock_runtime::{LockError, redlock};

const A: &str = "a";

#[redlock(resource = "a", pools = [])]
async fn none() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = ["a", "b", "a", "", A, 1])]
async fn wrong_names() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = "a")]
async fn no_array() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (none(), wrong_names(), no_array(), A);
}
