//! Names that are none.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", name = "charge:{id}")]
async fn template(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = template(1);
}
