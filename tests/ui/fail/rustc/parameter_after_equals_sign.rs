//! `#[redlock = …]` is rustc's to refuse, in one error.
use redlock_runtime::{LockError, redlock};

#[redlock = "order:{id}"]
async fn key_value(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = key_value(1);
}
