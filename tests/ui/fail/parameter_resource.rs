//! Resources that no node would take.
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

fn main() {
    let _ = (empty(), reserved(1), several(1));
}
