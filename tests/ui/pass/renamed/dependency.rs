//! The manifest calls the runtime `locks`: the attribute finds it.
#![deny(warnings)]

use locks::{LockError, redlock};

#[redlock(resource = "{id}", ttl = "1s", guard = lease)]
async fn used(id: u64) -> Result<u64, LockError> {
    let _ = lease.resource();
    Ok(id)
}

#[locks::redlock(resource = "{id}")]
async fn by_path(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{id}", crate = ::locks)]
async fn given(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = (used(1), by_path(1), given(1));
}
