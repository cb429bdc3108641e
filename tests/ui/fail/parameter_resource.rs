//! Resources that no node would take, and none.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "")]
async fn empty() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "redlock:{id}")]
async fn reserved(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = ["a:{id}", "", "a:{id}", id, "{}"])]
async fn several(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock]
async fn bare() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (bare(), empty(), reserved(1), several(1));
}
